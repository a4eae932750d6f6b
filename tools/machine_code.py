"""The machine code of kernel instances: what each kernel uses, against a committed report, and what no kernel may hold.

machine_code.py check --report FILE --limits FILE --nvcc NVCC NAME=OBJECT...   fails with what is wrong
machine_code.py write --report FILE --nvcc NVCC NAME=OBJECT...                 makes the report anew

NAME is an instance, OBJECT its object file, beside which tools/compile_record.py left OBJECT.compile.json. Needs no GPU,
but cuobjdump and nvdisasm: from the PATH, beside nvcc, or as `./mk test` installs them. `check` exits with 77 where they
are missing, and where the report is of another nvcc: then it has looked only for what no kernel may hold.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

REWRITE = "./mk machine-code"
SKIPPED = 77
CODE_TOLERANCE = 0.03
CPU_SLACK = 1.5  # a busy machine's caches make a compilation cost more CPU time, too

# What is counted: instructions by the start of their names.
COUNTED = {"local_loads": r"LDL\b", "local_stores": r"STL\b", "calls": r"CALL\b", "barriers": r"BAR\b",
           "warpgroup_products": r"[A-Z]GMMA\b"}
# What no kernel may hold, unless the limits allow it with a reason.
REFUSED = {
    "non-coherent load": re.compile(r"LDG?\.\S*(CONSTANT|\.NC\b)"),  # ld.global.nc: may read what is no longer there
    "floating-point atomic": re.compile(r"(RED|ATOM)\w*\.\S*\.F\d+"),  # sums depend on the order
}
EXACT = ("warpgroup_products",)

FUNCTION = re.compile(r"^\s+Function\s*:\s*(\S+)$")
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
RESOURCES = re.compile(r"^\s*Function (\S+):\n\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)", re.MULTILINE)
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


def toolkit_version(nvcc):
    text = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    return re.search(r", V([\d.]+)", text).group(1)


def tool_folder(nvcc, version):
    """Where cuobjdump and nvdisasm are, or None."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    release = ".".join(version.split(".")[:2])
    path = os.pathsep.join([os.environ.get("PATH", ""), str(pathlib.Path(nvcc).parent),
                            str(cache / "megakernels" / f"cuda-tools-{release}" / "bin")])
    found = [shutil.which(name, path=path) for name in ("cuobjdump", "nvdisasm")]
    return pathlib.Path(found[0]).parent if all(found) else None


def dump(folder, item, *options):
    path = os.pathsep.join([str(folder), os.environ.get("PATH", "")])
    return subprocess.run([folder / "cuobjdump", *options, item], check=True, capture_output=True, text=True,
                          env={**os.environ, "PATH": path}).stdout


def readable(symbol):
    """The name without arguments: mk::device::persistent_kernel of _ZN2mk6device17persistent_kernelI..."""
    rest, names = symbol.removeprefix("_Z").removeprefix("N"), []
    while (length := re.match(r"\d+", rest)) and symbol.startswith("_Z"):
        start = length.end()
        end = start + int(length.group())
        names.append(rest[start:end])
        rest = rest[end:]
    return "::".join(names) or symbol


def instructions(listing):
    """{symbol: [(address, instruction name)]} of a listing of cuobjdump -sass."""
    found = collections.defaultdict(list)
    symbol = None
    for line in listing.splitlines():
        if function := FUNCTION.match(line):
            symbol = function.group(1)
        elif symbol and (instruction := INSTRUCTION.match(line)):
            found[symbol].append((int(instruction.group(1), 16), instruction.group(2)))
    return found


def spills(ptxas):
    """{symbol: (bytes stored, bytes loaded)} of each kernel with the functions that it calls."""
    found, symbol = {}, None
    for line in ptxas:
        if entry := re.search(r"Compiling entry function '(\S+)'", line):
            symbol = entry.group(1)
        elif (counts := SPILLS.search(line)) and symbol:
            before = found.get(symbol, (0, 0))
            found[symbol] = (before[0] + int(counts.group(1)), before[1] + int(counts.group(2)))
    return found


def figures(resources, listing, ptxas):
    """{kernel: figures, and the names of its instructions under `instructions`}."""
    code, spilled, kernels = instructions(listing), spills(ptxas), {}
    for symbol, registers, stack, shared in RESOURCES.findall(resources):
        names = [name for _, name in code[symbol]]
        stored, loaded = spilled.get(symbol, (None, None))
        kernel = {"registers": int(registers), "spill_store_bytes": stored, "spill_load_bytes": loaded,
                  "stack_bytes": int(stack), "shared_bytes": int(shared), "code_bytes": code[symbol][-1][0] + 16}
        for figure, pattern in COUNTED.items():
            kernel[figure] = sum(1 for name in names if re.match(pattern, name))
        kernel["instructions"] = names
        name = readable(symbol)
        kernels[symbol if name in kernels else name] = kernel
    return kernels


def measure(folder, item):
    """One instance: its architectures, kernels, and what it cost to compile."""
    record = pathlib.Path(f"{item}.compile.json")
    compilation = json.loads(record.read_text()) if record.exists() else {"ptxas": []}
    files = dump(folder, item, "--list-elf", "--list-ptx")
    architectures = sorted(set(re.findall(r"\.(sm_\w+)\.cubin|\.(compute_\w+|sm_\w+)\.ptx", files)))
    return {"architectures": ["".join(names) for names in architectures],
            "kernels": figures(dump(folder, item, "--dump-resource-usage"), dump(folder, item, "-sass"),
                               compilation.pop("ptxas")),
            "compilation": compilation}


def refusals(instance, kernels, allowed):
    """What no kernel may hold, in words. `allowed`: {"instance", "rule", "at_most", "reason"} each."""
    for kernel, found in kernels.items():
        for rule, pattern in REFUSED.items():
            hits = [name for name in found["instructions"] if pattern.match(name)]
            limit = sum(entry["at_most"] for entry in allowed
                        if entry["instance"] == instance and entry["rule"] == rule)
            if len(hits) > limit:
                kinds = ", ".join(f"{count} {name}" for name, count in sorted(collections.Counter(hits).items()))
                yield f"{instance}: {kernel}: {rule} ({kinds}), where {limit} are allowed"


def differences(name, found, expected):
    """How an instance is worse than its report, or another."""
    if found["architectures"] != expected["architectures"]:
        yield f"{name}: architectures {found['architectures']}, in the report {expected['architectures']}"
    if found["kernels"].keys() != expected["kernels"].keys():
        yield f"{name}: kernels {sorted(found['kernels'])}, in the report {sorted(expected['kernels'])}"
        return
    for kernel, figures_expected in expected["kernels"].items():
        for figure, limit in figures_expected.items():
            value = found["kernels"][kernel].get(figure)
            if value is None:
                yield f"{name}: {kernel}: {figure} is not known: compile the instance again"
            elif figure == "code_bytes":
                if abs(value - limit) > CODE_TOLERANCE * limit:
                    yield f"{name}: {kernel}: {figure} {value}, in the report {limit}: {value / limit - 1:+.1%}"
            elif value > limit or (figure in EXACT and value != limit):
                yield f"{name}: {kernel}: {figure} {value}, in the report {limit}"


def over_budget(name, compilation, limits):
    budget = {**limits["compilation"]["default"], **limits["compilation"].get(name, {})}
    if not compilation:
        yield f"{name}: nothing is noted of its compilation: compile it again"
        return
    print(f"{name}: compiled in {compilation['cpu_s']} s of CPU time (budget {budget['cpu_s']}), "
          f"{compilation['peak_mb']} MB (budget {budget['peak_mb']})")
    if compilation["cpu_s"] > CPU_SLACK * budget["cpu_s"]:
        yield f"{name}: compiling took {compilation['cpu_s']} s of CPU time, {CPU_SLACK} times the budget or more"
    if compilation["peak_mb"] > budget["peak_mb"]:
        yield f"{name}: the compiler took {compilation['peak_mb']} MB"


def check(measured, report, limits, version):
    """(problems, whether the figures could be compared)."""
    problems = []
    for name, found in measured.items():
        problems += refusals(name, found["kernels"], limits["allowed"])
        problems += over_budget(name, found["compilation"], limits)
    if report["nvcc"] != version:
        return problems, False
    if measured.keys() != report["instances"].keys():
        problems.append(f"instances {sorted(measured)}, in the report {sorted(report['instances'])}")
    changes = [line for name in measured.keys() & report["instances"].keys()
               for line in differences(name, measured[name], report["instances"][name])]
    if changes:
        changes.append(f"If this is meant, write the report anew and commit it: {REWRITE}")
    return problems + changes, True


def report_of(measured, version):
    for instance in measured.values():
        del instance["compilation"]
        for kernel in instance["kernels"].values():
            del kernel["instructions"]
    return {"nvcc": version, "instances": measured}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("check", "write"))
    parser.add_argument("--report", type=pathlib.Path, required=True)
    parser.add_argument("--limits", type=pathlib.Path)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("objects", nargs="+", metavar="NAME=OBJECT")
    options = parser.parse_args()

    version = toolkit_version(options.nvcc)
    folder = tool_folder(options.nvcc, version)
    if folder is None:
        print("Skipped\ncuobjdump and nvdisasm are not installed: ./mk test does it")
        return SKIPPED
    measured = {name: measure(folder, item) for name, item in (pair.split("=", 1) for pair in options.objects)}
    if options.command == "write":
        unknown = [name for name, instance in measured.items() for kernel in instance["kernels"].values()
                   if None in kernel.values()]
        if unknown:
            print(f"spills are not known of {', '.join(unknown)}: compile again")
            return 1
        options.report.write_text(json.dumps(report_of(measured, version), indent=2) + "\n")
        return 0

    report = json.loads(options.report.read_text())
    problems, compared = check(measured, report, json.loads(options.limits.read_text()), version)
    for problem in problems:
        print(problem)
    if not problems and not compared:
        print(f"Skipped\nthe report is of nvcc {report['nvcc']}, this is {version}")
        return SKIPPED
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
