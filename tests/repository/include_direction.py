"""Includes point one way: tylo <- ops <- scheduler/program <- scheduler, runtime <- examples, benchmarks, tests."""

import os
import re

from repository import PARTS, lines, report, sources

# What a part may include. scheduler/program counts as a part: the runtime runs programs and cannot make them.
ALLOWED = {
    "tylo": {"tylo"},
    "ops": {"tylo", "ops"},
    "program": {"tylo", "ops", "program"},
    "scheduler": {"tylo", "ops", "program", "scheduler"},
    "runtime": {"tylo", "ops", "program", "runtime"},
}
WITHOUT_CUDA = {"program", "scheduler"}
CUDA_HEADER = re.compile(r"(cuda|cub/|cooperative_groups|device_launch|driver_types|nv/|nvrtc|vector_types|mma\.h)")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def part_of(path):
    """The part that a path relative to the root belongs to, or None."""
    folders = path.split("/")
    if folders[:2] == ["scheduler", "program"]:
        return "program"
    return folders[0] if folders[0] in PARTS else None


def included_path(path, bracket, name):
    """What an include names, relative to the root, as far as it is of this project."""
    if name.startswith("megakernels/"):
        return name.removeprefix("megakernels/")
    return os.path.normpath(os.path.join(os.path.dirname(path), name)) if bracket == '"' else None


def problems():
    for path in map(str, sources()):
        part = part_of(path)
        if part is None:
            continue
        for number, line in lines(path):
            include = INCLUDE.match(line)
            if not include:
                continue
            bracket, name = include.groups()
            target = included_path(path, bracket, name)
            if target is not None and part_of(target) not in ALLOWED[part]:
                yield f"{path}:{number}: {part} must not include {name}"
            if part in WITHOUT_CUDA and CUDA_HEADER.match(name):
                yield f"{path}:{number}: {part} must not include the CUDA header {name}"


report(list(problems()))
