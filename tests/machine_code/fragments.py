"""What kernels of fragments must compile to: fragments.py NVCC PROGRAM [--list].

PROGRAM is made of fragments.cu. It prints how many instructions of each kind its kernels must have, and they are counted
in its machine code. --list prints what each kernel has.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import machine_code

# What is counted in kernels, as the program names it. An access without a width has fewer than 8 bytes.
ACCESS = re.compile(r"(LDG|STG|LDS|STS)\b")
OTHERS = {"SHFL": r"SHFL\b", "BAR": r"BAR\b", "MUFU.EX2": r"MUFU\.EX2\b", "MUFU.RCP": r"MUFU\.RCP\b", "F2FP": r"F2FP\b"}
# What no kernel may hold: values that are not in registers, and code whose way is looked up or taken twice.
REFUSED = {"local memory": r"(LDL|STL)\b", "a call": r"CALL\b", "an indexed branch": r"BRX\b",
           "generic memory": r"(LD|ST)\b(?!\.)|(LD|ST)\.E\b", "shuffles for divergent lanes": r"BRA\.DIV\b"}


def kind_of(name):
    """The kind of an instruction that is counted, or None."""
    if access := ACCESS.match(name):
        width = re.search(r"\.(64|128)\b", name)
        return access.group(1) + (width.group() if width else "")
    return next((kind for kind, pattern in OTHERS.items() if re.match(pattern, name)), None)


def problems_of(kernel, expected, kernels):
    """What is wrong with a kernel, in words."""
    names = kernel["instructions"]
    found = collections.Counter(filter(None, map(kind_of, names)))
    for kind in sorted(expected["counts"].keys() | found.keys()):
        if found[kind] != expected["counts"].get(kind, 0):
            yield f"{found[kind]} {kind}, not {expected['counts'].get(kind, 0)}"
    for what, pattern in REFUSED.items():
        if hits := sorted({name for name in names if re.match(pattern, name)}):
            yield f"{what}: {', '.join(hits)}"
    if kernel["stack_bytes"] != 0:
        yield f"a stack of {kernel['stack_bytes']} bytes"
    if (other := expected.get("same_as")) and names != kernels[other]["instructions"]:
        yield f"{len(names)} instructions, which are not those of {other}"


def main():
    nvcc, program, *options = sys.argv[1:]
    folder = machine_code.tool_folder(nvcc, machine_code.toolkit_version(nvcc))
    if folder is None:
        print("Skipped\ncuobjdump and nvdisasm are not installed: ./mk test does it")
        return machine_code.SKIPPED
    expected = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    kernels = machine_code.measure(folder, program)["kernels"]
    assert kernels.keys() == expected.keys(), kernels.keys() ^ expected.keys()
    failed = 0
    for name, wanted in expected.items():
        problems = list(problems_of(kernels[name], wanted, kernels))
        if "--list" in options:
            print(f"{name}: {kernels[name]['registers']} registers, {len(kernels[name]['instructions'])} instructions, "
                  + ", ".join(f"{count} {kind}" for kind, count in wanted["counts"].items() if count))
        planted = wanted.get("planted")
        if planted and not any(problem.startswith(planted) for problem in problems):
            print(f"{name}: {planted} is not found in it, but: {problems}")
            failed += 1
        elif problems and not planted:
            print(f"{name}: " + "; ".join(problems))
            failed += 1
    print(f"{len(expected)} kernels, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
