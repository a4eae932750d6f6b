"""The gate finds what was planted in real machine code: planted.py NVCC OBJECT."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import machine_code

nvcc, item = sys.argv[1:]
folder = machine_code.tool_folder(nvcc, machine_code.toolkit_version(nvcc))
if folder is None:
    print("Skipped\ncuobjdump and nvdisasm are not installed: ./mk test does it")
    sys.exit(machine_code.SKIPPED)

kernels = machine_code.measure(folder, item)["kernels"]
found = sorted(line.split(" (")[0] for line in machine_code.refusals("planted", kernels, []))
assert found == ["planted: floating_point_atomic: floating-point atomic",
                 "planted: non_coherent_load: non-coherent load",
                 "planted: restrict_pointer: non-coherent load"], found

one_allowed = [{"instance": "planted", "rule": "non-coherent load", "at_most": 1, "reason": "a test"}]
assert len(list(machine_code.refusals("planted", kernels, one_allowed))) == 1

sound, local = kernels["sound"], kernels["array_in_local_memory"]
assert sound["local_loads"] == sound["local_stores"] == sound["stack_bytes"] == sound["spill_store_bytes"] == 0, sound
assert local["local_loads"] > 0 and local["local_stores"] > 0 and local["stack_bytes"] >= 128, local
assert 0 < sound["registers"] < 32 and 0 < sound["code_bytes"] < 4096, sound
