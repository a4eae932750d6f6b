"""Runs the programs of GPU tests and writes a receipt of it.

gpu_tests.py --binaries PROGRAM... --out FILE [--hash HASH] [--commit COMMIT] [--toolkit VERSION] [--limit SECONDS]

The programs are GoogleTest's and can be built on another machine: then give the hash (tools/device_hash.py) and the
commit of the sources there. Needs Python, nvidia-smi and nothing else. A test that crashes or passes its time limit has
failed, and the rest of its program is run without it. Fails unless there is a GPU, no test failed and some passed.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time

from device_hash import ROOT, device_hash

STARTED = re.compile(r"\[ RUN      \] (\S+)")
ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?: \((\d+) ms\))?$")
RESULTS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def card():
    """(name, driver, the driver's CUDA version) of the first GPU, or None."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        name, driver = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()[0].split(", ")
        banner = subprocess.run(["nvidia-smi"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError, IndexError, ValueError):
        return None
    version = re.search(r"CUDA (?:UMD )?Version: *([\d.]+)", banner)
    return name, driver, version.group(1) if version else "unknown"


def commit():
    try:
        return subprocess.run(["git", "-c", "safe.directory=*", "rev-parse", "HEAD"], cwd=ROOT, check=True,
                              capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def lines_until(process, limit_s):
    """The lines of a process. Ends it where none came for so long."""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        pending, last = b"", time.monotonic()
        while True:
            if not selector.select(max(0.0, last + limit_s - time.monotonic())):
                os.killpg(process.pid, signal.SIGKILL)
                return
            received = os.read(process.stdout.fileno(), 65536)
            if not received:
                return
            *whole, pending = (pending + received).split(b"\n")
            for line in whole:
                text = line.decode(errors="replace")
                if STARTED.search(text) or ENDED.search(text):
                    last = time.monotonic()
                yield text


def run_once(program, without, limit_s):
    """({test: result}, whether the program came to its end)."""
    results, running, started = {}, None, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "results.json"
        process = subprocess.Popen(
            [program, f"--gtest_output=json:{report}", "--gtest_color=no", "--gtest_filter=*-" + ":".join(without)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        for line in lines_until(process, limit_s):
            print(line, flush=True)
            if start := STARTED.search(line):
                running, started = start.group(1), time.monotonic()
            elif (end := ENDED.search(line)) and end.group(2) == running:
                results[running] = {"result": RESULTS[end.group(1)], "ms": int(end.group(3) or 0)}
                running = None
        process.stdout.close()
        code = process.wait()
        if report.exists() and code in (0, 1):
            return results_of(json.loads(report.read_text())), True
    why = f"ended with {code}" if code != -signal.SIGKILL else f"killed, perhaps at the limit of {limit_s} s"
    name = running or f"{pathlib.Path(program).name} outside of tests"
    print(f"{name}: {why}", flush=True)
    results[name] = {"result": "failed", "ms": round(1000 * (time.monotonic() - started)), "why": why}
    return results, running is None


def results_of(report):
    """{test: result} of GoogleTest's JSON report."""
    results = {}
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            if test["status"] != "RUN":
                continue
            result = "failed" if test.get("failures") else "skipped" if test["result"] == "SKIPPED" else "passed"
            name = f"{suite['name']}.{test['name']}"
            results[name] = {"result": result, "ms": round(1000 * float(test["time"].rstrip("s")))}
    return results


def run_program(program, limit_s):
    results = {}
    while True:
        more, ended = run_once(program, list(results), limit_s)
        results.update(more)
        if ended:
            return results


def in_lines(receipt):
    """JSON with a line for each test."""
    head = {key: value for key, value in receipt.items() if key != "results"}
    text = json.dumps(head, indent=2)[:-2]
    tests = [f'    {json.dumps(name)}: {json.dumps(result)}' for name, result in sorted(receipt["results"].items())]
    return text + ',\n  "results": {\n' + ",\n".join(tests) + "\n  }\n}\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", nargs="+", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--hash", help="of the device sources; by default those of this checkout")
    parser.add_argument("--commit")
    parser.add_argument("--toolkit", default="unknown")
    parser.add_argument("--limit", type=float, default=300, help="seconds a test may take")
    options = parser.parse_args()

    gpu = card()
    if gpu is None:
        print("this machine has no GPU, or no nvidia-smi")
        return 1
    # The programs name the sources of where they were built.
    if (ROOT / "tests/golden").is_dir():
        os.environ.setdefault("MEGAKERNELS_GOLDEN", str(ROOT / "tests/golden"))
    results = {}
    for program in options.binaries:
        for test, result in run_program(os.path.abspath(program), options.limit).items():
            results[f"{pathlib.Path(program).name}/{test}"] = result

    counts = collections.Counter(result["result"] for result in results.values())
    passed = counts["failed"] == 0 and counts["passed"] > 0
    receipt = {
        "status": "passed" if passed else "failed",
        "device_sources": options.hash or device_hash(),
        "commit": options.commit or commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "card": gpu[0], "driver": gpu[1], "cuda": {"driver": gpu[2], "toolkit": options.toolkit},
        "tests": {name: counts[name] for name in ("passed", "failed", "skipped")},
        "results": results,
    }
    options.out.write_text(in_lines(receipt))
    for name, result in results.items():
        if result["result"] != "passed":
            print(f"{result['result']}: {name}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped on {gpu[0]}: {options.out}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
