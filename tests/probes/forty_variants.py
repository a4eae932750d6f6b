"""What a kernel instance of forty operations costs to compile, and what it uses, against a committed record.

forty_variants.py write --record FILE --nvcc NVCC --object OBJECT      makes the record anew
forty_variants.py check --record FILE ... --build CMAKE FOLDER         builds the instance, then fails with what is worse

`check` does nothing without MK_LONG (./mk test --long), since it compiles for minutes. OBJECT is the instance's object
file, beside which tools/compile_record.py left OBJECT.compile.json.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import machine_code

OPERATIONS = 40
# By how much a figure may exceed its record: another machine's compiler takes another time.
ALLOWED = {"compile_cpu_s": 2.0, "compiler_peak_mb": 1.2, "code_bytes": 1.03, "registers": 1.0, "stack_bytes": 1.0,
           "spill_store_bytes": 1.0, "spill_load_bytes": 1.0, "calls": 1.0, "serialized": 1.0}


def measure(folder, nvcc, item):
    found = machine_code.measure(folder, item)
    (kernel,) = found["kernels"].values()
    ptxas = json.loads(pathlib.Path(f"{item}.compile.json").read_text())["ptxas"]
    figures = {figure: kernel[figure] for figure in ALLOWED if figure in kernel}
    figures |= {"compile_cpu_s": found["compilation"]["cpu_s"], "compiler_peak_mb": found["compilation"]["peak_mb"],
                "serialized": sum("wgmma.mma_async instructions are serialized" in line for line in ptxas),
                "warpgroup_products": kernel["warpgroup_products"]}
    return {"nvcc": machine_code.toolkit_version(nvcc), "operations": OPERATIONS,
            "figures": dict(sorted(figures.items()))}


def problems(found, record):
    """What is worse than the record; time and memory are compared for any nvcc, the code for the same one."""
    same = found["nvcc"] == record["nvcc"]
    for figure, factor in ALLOWED.items():
        value, limit = found["figures"][figure], record["figures"][figure] * factor
        if value > limit and (same or figure.startswith("compile")):
            yield f"{figure} is {value}, at most {limit:.6g} is allowed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("check", "write"))
    parser.add_argument("--record", type=pathlib.Path, required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--object", required=True)
    parser.add_argument("--build", nargs=2, metavar=("CMAKE", "FOLDER"))
    options = parser.parse_args()

    if options.command == "check" and not os.environ.get("MK_LONG"):
        print("Skipped\nforty operations take minutes to compile: ./mk test --long does it")
        return machine_code.SKIPPED
    folder = machine_code.tool_folder(options.nvcc, machine_code.toolkit_version(options.nvcc))
    if folder is None:
        print("Skipped\ncuobjdump and nvdisasm are not installed: ./mk test does it")
        return machine_code.SKIPPED
    if options.build:
        cmake, build = options.build
        subprocess.run([cmake, "--build", build, "--target", "test-forty"], check=True)
    found = measure(folder, options.nvcc, options.object)
    print(json.dumps(found, indent=2))
    if options.command == "write":
        options.record.write_text(json.dumps(found, indent=2) + "\n")
        return 0
    worse = list(problems(found, json.loads(options.record.read_text())))
    print("\n".join(worse))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
