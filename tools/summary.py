"""Sums up test results: summary.py FOLDER..., each with the results.xml (JUnit) that ctest wrote.

Prints the names of what failed and what was skipped, then one line of counts. Fails where a test failed.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml


def reason_for_skip(case):
    """What the test printed about its skip: GoogleTest's line after "Skipped", or the last line."""
    text = (case.findtext("system-out") or "").strip()
    found = re.search(r"Skipped\n(.+)", text)
    return found.group(1).strip() if found else text.rpartition("\n")[2]


def main(folders):
    passed, failed, skipped = 0, [], []
    for folder in folders:
        results = pathlib.Path(folder) / "results.xml"
        if not results.exists():
            failed.append(f"{folder}: no test ran")
            continue
        for case in xml.parse(results).iter("testcase"):
            name = f"{pathlib.Path(folder).name}: {case.get('name')}"
            if case.get("status") == "run":
                passed += 1
            elif case.find("skipped") is not None:
                skipped.append(f"{name}: {reason_for_skip(case)}")
            else:
                failed.append(name)
    for line in skipped:
        print(f"skipped: {line}")
    for line in failed:
        print(f"FAILED: {line}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
