"""Code with fragments that must not compile, and the one sentence of the library that says why.

usage: refused.py COMPILER INCLUDE_DIRECTORY
"""

import pathlib
import subprocess
import sys
import tempfile

HEAD = """
#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/fragment/online_softmax.hpp>
#include <megakernels/tylo/fragment/pack.hpp>
#include <megakernels/tylo/numbers.hpp>
using namespace tylo;
constexpr ownership part{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})};
constexpr auto rows = local<axis::columns>(4);
"""

RIGHT = """
float f(fragment<float, part> x, fragment<float, tiled(part, {}, {1, 2})> wide, float* scratch) {
  auto const y = x - max<axis::columns>(this_warp{}, x);
  auto const z = wide * reduce_across_warps<axis::columns>(whole_cta<64>{}, wide, add_values{}, scratch);
  return only(sum<axis::rows>(this_warp{}, fragment<float, local<axis::rows>(4)>{})
              + fragment<float, reduced<local<axis::rows>(4), axis::rows>>{}) + y.data[0] + z.data[0];
}
"""

NOT_OF_THE_LIBRARY = ""  # the compiler's own words

# What is wrong: its code, and the sentence.
REFUSED = {
    "fragments owned differently": (
        "auto f(fragment<float, part> x, fragment<float, local<axis::rows>(4)> y) { return x + y; }",
        "these fragments are owned differently"),
    "the same shape, owned differently": (
        """constexpr ownership patches{{16, 8}, steps(8, {2, 0}).then(4, {0, 2}), steps(2, {1, 0}).then(2, {0, 1})};
        auto f(fragment<float, part> x, fragment<float, patches> y) { return select(x > y, x, 0.0f); }""",
        "these fragments are owned differently"),
    "reductions along both axes, without what was reduced": (
        """auto f(fragment<float, part> x) {
          return sum<axis::rows>(this_warp{}, x) * sum<axis::columns>(this_warp{}, x);
        }""",
        "these fragments are owned differently"),
    "a reduction that belongs to another tile": (
        "auto f(fragment<float, rows> x, fragment<float, part> y) { return x - max<axis::columns>(this_warp{}, y); }",
        "these fragments are owned differently"),
    "a sum of bf16": (
        "auto f(fragment<bf16, part> x) { return sum<axis::columns>(this_warp{}, x); }",
        "elements of 8 or 16 bits are not reduced"),
    "a maximum of int8": (
        "auto f(fragment<std::int8_t, part> x) { return max<axis::rows>(this_warp{}, x); }",
        "elements of 8 or 16 bits are not reduced"),
    "an axis that spans warps": (
        """auto f(fragment<float, tiled(part, {}, {1, 2})> x) {
          return sum<axis::columns>(whole_cta<64>{}, x);
        }""",
        "this axis spans several warps: call reduce_across_warps"),
    "a softmax along an axis that spans warps": (
        """auto f(fragment<float, tiled(part, {}, {2, 1})> x) {
          auto state = online_softmax<axis::rows, tiled(part, {}, {2, 1})>::start();
          return state.update(warps<2>{0, 1}, x, 1.0f);
        }""",
        "this axis spans several warps: call reduce_across_warps"),
    "half of the columns": (
        """constexpr ownership half{{16, 16}, part.thread, part.slot};
        auto f(fragment<float, half> x) { return sum<axis::columns>(this_warp{}, x); }""",
        "not every element along this axis has an owner"),
    "half of the columns, across warps": (
        """constexpr ownership half{{32, 32}, steps(32, {1, 0}).then(2, {0, 16}), steps(8, {0, 1})};
        auto f(fragment<float, half> x, float* scratch) {
          return reduce_across_warps<axis::columns>(whole_cta<64>{}, x, add_values{}, scratch);
        }""",
        "not every element along this axis has an owner"),
    "elements that a thread has twice": (
        """constexpr ownership twice{{32, 4}, steps(32, {1, 0}), steps(2, {0, 0}).then(4, {0, 1})};
        auto f(fragment<float, twice> x) { return sum<axis::columns>(this_warp{}, x); }""",
        "elements along this axis would be counted more than once"),
    "elements outside of the tile": (
        """constexpr ownership outside{{32, 8}, steps(32, {1, 0}).then(2, {0, 8}), steps(8, {0, 1})};
        auto f(fragment<float, outside> x) { return sum<axis::columns>(whole_cta<64>{}, x); }""",
        "a thread has elements outside of the tile"),
    "slots on a diagonal": (
        """constexpr ownership diagonal{{34, 3}, steps(32, {1, 0}), steps(3, {1, 1})};
        auto f(fragment<float, diagonal> x) { return sum<axis::columns>(this_warp{}, x); }""",
        "the slots of a thread lie differently in different lines"),
    "a group of too few threads": (
        "auto f(fragment<float, local<axis::columns>(4, 64)> x) { return sum<axis::columns>(this_warp{}, x); }",
        "the group has not as many threads as own the fragment"),
    "a group of too many threads": (
        "auto f(fragment<float, part> x) { return sum<axis::columns>(whole_cta<128>{}, x); }",
        "the group has not as many threads as own the fragment"),
    "a pair of CTAs of twice the threads": (
        """auto f(fragment<float, local<axis::columns>(4, 64)> x, float* scratch) {
          return reduce_across_warps<axis::rows>(cta_pair<64>{}, x, add_values{}, scratch);
        }""",
        "the group has not as many threads as own the fragment"),
    "the only one of several": (
        "float f(fragment<float, part> x) { return only(x); }",
        "only() of a fragment of which a thread has several elements"),
    "the only one of a reduction with several": (
        "float f(fragment<float, part> x) { return only(sum<axis::columns>(this_warp{}, x)); }",
        "only() of a fragment of which a thread has several elements"),
    "parts that do not divide a group": (
        "auto f() { return warps<4>{0, 1}.part<3>(2); }",
        "the group does not divide into parts of so many warps"),
    "a conversion to what is no element type": (
        "auto f(fragment<float, part> x) { return convert<std::int16_t>(x); }",
        "elements are converted to fp64, fp32,"),
    "a conversion from what is no element type": (
        "auto f(fragment<long, part> x) { return pack<bf16>(x); }",
        "elements are converted from fp64, fp32,"),
    "an implicit conversion": (
        "fragment<float, part> f(fragment<bf16, part> x) { return x; }",
        NOT_OF_THE_LIBRARY),
    "packing of fp32 as it is": (
        "auto f(fragment<float, part> x) { return pack(x); }",
        "only elements of 8 or 16 bits are packed"),
    "half a word of bf16": (
        "auto f(fragment<float, local<axis::columns>(3)> x) { return pack<bf16>(x); }",
        "a packed fragment has no unfinished word"),
    "half a word of e4m3": (
        "auto f(fragment<float, local<axis::columns>(6)> x) { return pack<e4m3>(x); }",
        "a packed fragment has no unfinished word"),
    "too few words": (
        "auto f() { return packed_from_words<bf16, rows>(1u); }",
        "a packed fragment of another number of words"),
    "arithmetic of bf16": (
        "auto f(fragment<bf16, part> x) { return x + x; }",
        NOT_OF_THE_LIBRARY),
    "a load by too few threads": (
        """auto f(float* p) {
          return load<local<axis::columns>(4, 64)>(this_warp{}, tile_of(p, row_major<64, 4>()), 0.0f);
        }""",
        "the group has not as many threads as own the fragment"),
    "a store by too many threads": (
        "void f(float* p, fragment<float, part> x) { store(whole_cta<64>{}, tile_of(p, row_major<16, 8>()), x); }",
        "the group has not as many threads as own the fragment"),
    "a store of rows that neighbouring threads have in common": (
        """constexpr ownership common{{33, 3}, steps(32, {1, 0}), steps(2, {1, 0}).then(3, {0, 1})};
        void f(float* p, fragment<float, common> x) { store(this_warp{}, tile_of(p, row_major<33, 3>()), x); }""",
        "several of which none is the first: who stores is not clear"),
    "a load of other elements than the tile has": (
        """fragment<float, rows> f(bf16* p) {
          return load<rows>(this_warp{}, tile_of(p, row_major<32, 4>()), bf16(0.0f));
        }""",
        NOT_OF_THE_LIBRARY),
    "a store to a tile that is only read": (
        "void f(float const* p, fragment<float, rows> x) { store(this_warp{}, tile_of(p, row_major<32, 4>()), x); }",
        NOT_OF_THE_LIBRARY),
    "a group that is none": (
        "auto f(fragment<float, part> x) { return sum<axis::columns>(32, x); }",
        NOT_OF_THE_LIBRARY),
}


def errors_of(compiler, include, folder, source):
    """The compiler's errors for a source; none if it takes it."""
    path = pathlib.Path(folder) / "refused.cpp"
    path.write_text(source)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", include, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stderr if result.returncode != 0 else ""


def wrong_with(errors, sentence):
    """What is not as expected, if anything."""
    if not errors:
        return "it compiles"
    found = [line for line in errors.splitlines() if "error:" in line and "tylo: " in line]
    if len(found) != (0 if sentence == NOT_OF_THE_LIBRARY else 1) or not all(sentence in line for line in found):
        return f"the one sentence is not '{sentence}':\n" + ("\n".join(found) or errors[:3000])
    return None


def main():
    compiler, include = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        errors = errors_of(compiler, include, folder, HEAD + RIGHT)
        if errors:
            print("what is right does not compile:\n" + errors)
            failed += 1
        for name, (code, sentence) in REFUSED.items():
            why = wrong_with(errors_of(compiler, include, folder, HEAD + code), sentence)
            if why:
                print(f"{name}: {why}")
                failed += 1
    print(f"{len(REFUSED)} refusals, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
