"""What C++ does not say about a GPU stands in tylo/lane alone, and each function there that has a place in the source
to report takes it as a default argument."""

import re

from repository import lines, report, sources, text

# Host code may have instructions of its own; what the compiler must do to a kernel is planted in one test.
ELSEWHERE = ("tylo/lane/", "runtime/internal/gate.hpp", "ops/reference/", "tests/machine_code/planted.cu", "tylo/emulator/",
             "tests/emulator/symbols_test.cpp")
DEVICE_ONLY = re.compile(
    r"\basm\b|(?<![.\w])(threadIdx|blockIdx|blockDim|gridDim|warpSize)\b|__shared__|__sync\w+|__shfl\w*|__ballot\w*|__any_sync"
    r"|__nanosleep|__cvta_generic\w*|cuda::ptx|cuda::atomic_ref|\bsm_\d+a?\b.*asm")
HOST_BODY = re.compile(r"emulator::(\w+)\([^;]*\)")
COMMENT = re.compile(r"//.*")
# These say who a thread is: nothing can be wrong with them.
WITHOUT_SITE = {"thread_rank", "cta_rank", "cta_count", "cluster_rank", "cluster_size", "multiprocessor_rank",
                "shared_memory", "clock_ns", "is_batched", "lane_rank"}
FUNCTION = re.compile(r"TYLO_FN\s+(?:inline\s+|constexpr\s+)*[\w:<>*&\s]+?\b(\w+)\(([^{;]*)\)\s*\{", re.S)


def problems():
    for path in map(str, sources()):
        if path.startswith(ELSEWHERE):
            continue
        for number, line in lines(path):
            if found := DEVICE_ONLY.search(COMMENT.sub("", line)):
                yield f"{path}:{number}: '{found.group(0)}' belongs into tylo/lane"
    for path in map(str, sources()):
        if not path.startswith("tylo/lane/"):
            continue
        for name, parameters in FUNCTION.findall(text(path)):
            body = text(path).split(f" {name}(", 1)[1].split("\n}", 1)[0]
            if HOST_BODY.search(body) and name not in WITHOUT_SITE and "site::here()" not in parameters:
                yield f"{path}: {name} takes no site"


report(list(problems()))
