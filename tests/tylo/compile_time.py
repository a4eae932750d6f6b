"""What it costs to compile a source that uses all of Tylo's core: compile_time.py LIMIT_S INCLUDE_DIRECTORY COMPILER...

The source includes all headers of layout/ and fragment/, and does everything with a dozen fragments, each in a function
of its own. CPU time of the compiler and its children is what counts: another load of the machine does not.
"""

import pathlib
import resource
import subprocess
import sys
import tempfile

SHAPES = {
    "local_rows": "local<axis::columns>(8)",
    "local_columns": "local<axis::rows>(8)",
    "long_rows": "local<axis::columns>(32)",
    "striped_row": "striped<axis::columns>(4, 8)",
    "striped_column": "striped<axis::rows>(4, 4)",
    "part": "ownership{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})}",
    "wide": "tiled(part, {1, 8})",
    "turned": "exchanged(wide)",
    "warps_below": "tiled(part, {2, 4}, {4, 1})",
    "square_of_warps": "tiled(part, {2, 4}, {2, 2})",
    "warps_beside": "tiled(part, {1, 4}, {1, 4})",
    "patches": "ownership{{16, 8}, steps(8, {2, 0}).then(4, {0, 2}), steps(2, {1, 0}).then(2, {0, 1})}",
}

USE = """
/// Lines of a warp are whole, or they span warps.
template <axis Along, ownership O> TYLO_FN auto sum_along(fragment<float, O> const& x, float* scratch) {
  using group = whole_cta<O.threads()>;
  if constexpr (verdict_of<O, Along> == reduction_verdict::possible)
    return sum<Along>(group{}, x) + max<Along>(group{}, x);
  else
    return reduce_across_warps<Along>(group{}, x, add_values{}, scratch);
}

template <ownership O> TYLO_FN void use(bf16 const* from, float* to, int columns) {
  whole_cta<O.threads()> const group;
  auto* const shared = reinterpret_cast<float*>(shared_memory());
  auto const rows = tile_of<16>(from, row_major(1000, columns, multiple_of<8>{columns}));
  auto const part = window<O.shape.row, O.shape.column>(rows, multiple_of<8>{8}, multiple_of<8>{16});
  auto x = convert<float>(load<O>(group, part, bf16{}));
  auto const y = map([](float a, float b) { return fused_multiply_add(a, b, 1.0f); }, x, x);
  x = select(x > 0.0f, y, x * 0.5f) - sum_along<axis::columns>(x, shared);
  x = x * sum_along<axis::rows>(x, shared);
  if constexpr (verdict_of<O, axis::columns> == reduction_verdict::possible) {
    auto state = online_softmax<axis::columns, O>::start();
    auto const step = state.update(group, x, 0.5f);
    x = step.weights * state.normalizer();
  }
  x = convert<float>(unpack(pack<fp16>(x)));
  auto const staged = tile_of<16>(shared, row_major<O.shape.row, O.shape.column>());
  store(group, staged, x);
  group.sync();
  auto const back = exchanged(load<O>(group, staged, 0.0f, whole_vectors{}));
  store(group, tile_of<16>(to, column_major<O.shape.column, O.shape.row>()), back, whole_vectors{});
}
"""


def source(include):
    """All headers, shapes and functions, for a host compiler or nvcc."""
    tylo = pathlib.Path(include) / "megakernels" / "tylo"
    headers = ["group.hpp", "lane/copy.hpp"]
    for part in ("layout", "fragment"):
        headers += sorted(str(path.relative_to(tylo)) for path in (tylo / part).glob("*.hpp"))
    lines = [f"#include <megakernels/tylo/{header}>" for header in headers] + ["using namespace tylo;"]
    lines += [f"inline constexpr ownership {name} = {value};" for name, value in SHAPES.items()] + [USE]
    lines += ["#if defined(__CUDACC__)", "#define KERNEL extern \"C\" __global__", "#else", "#define KERNEL", "#endif"]
    lines += [f"KERNEL void use_{name}(bf16 const* from, float* to, int columns) {{ use<{name}>(from, to, columns); }}"
              for name in SHAPES]
    return "\n".join(lines) + "\n"


def cpu_seconds(command):
    """Of a command that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    limit, include, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        is_nvcc = pathlib.Path(compiler[0]).name == "nvcc"
        path = pathlib.Path(folder) / ("core.cu" if is_nvcc else "core.cpp")
        path.write_text(source(include))
        took = cpu_seconds([*compiler, "-std=c++20", "-O2", "-I", include, "-c", str(path), "-o", f"{folder}/core.o"])
    name = pathlib.Path(compiler[0]).name
    print(f"{name}: {len(SHAPES)} fragments compiled in {took:.1f} s of CPU time, limit {limit} s")
    return 0 if took <= float(limit) else 1


if __name__ == "__main__":
    sys.exit(main())
