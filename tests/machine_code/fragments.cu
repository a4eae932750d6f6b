// Kernels of one thing each that fragments are used for, and how many instructions of a kind each must have: from the
// library's own plans, printed as JSON by the program. fragments.py looks at the machine code. Nothing runs the
// kernels.

#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/fragment/online_softmax.hpp>
#include <megakernels/tylo/fragment/pack.hpp>
#include <megakernels/tylo/group.hpp>
#include <megakernels/tylo/lane/copy.hpp>

#include "../tylo/shapes.hpp"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <type_traits>

namespace mk::test {

using namespace tylo;

/// Of accesses: those of 16, of 8 and of fewer bytes.
struct widths {
  int of_16 = 0, of_8 = 0, less = 0;
};

struct counts {
  widths global_loads{}, global_stores{}, shared_loads{}, shared_stores{};
  int shuffles = 0, barriers = 0, powers = 0, reciprocals = 0, conversions = 0;
};

struct arguments {
  void const* in;
  void* out;
  float a, b;
  int rows, columns;
};

template <ownership O> using usual_group = std::conditional_t<O.threads() == 32, this_warp, whole_cta<O.threads()>>;

/// All of a tile of rows.
template <ownership O, class T> TYLO_FN auto whole_tile(T* memory) {
  return tile_of<16>(memory, row_major<O.shape.row, O.shape.column>());
}
template <ownership O, class T> TYLO_FN auto load_all(arguments const& g) {
  return load<O>(usual_group<O>{}, whole_tile<O>(static_cast<T const*>(g.in)), T{}, whole_vectors{});
}
template <class T, ownership O> TYLO_FN void store_all(arguments const& g, fragment<T, O> const& f) {
  store(usual_group<O>{}, whole_tile<O>(static_cast<T*>(g.out)), f, whole_vectors{});
}

/// Accesses of all slots of a thread, in vectors of the plan.
template <ownership O, class Tile, class T> constexpr widths accesses() {
  constexpr int length = vector_elements<O, Tile::form, Tile::alignment, int(sizeof(T))>;
  constexpr int count = O.slots() / length, bytes = length * int(sizeof(T));
  return {bytes == 16 ? count : 0, bytes == 8 ? count : 0, bytes < 8 ? count : 0};
}
template <ownership O, class T> constexpr widths whole_accesses() {
  return accesses<O, decltype(whole_tile<O>(static_cast<T*>(nullptr))), T>();
}

namespace gates {

using namespace shapes;

inline constexpr auto row_of_16 = local<axis::columns>(16);
/// Scores of 16 rows and 64 columns.
inline constexpr auto scores = tiled(mma_c, {1, 8});

// --- element by element

template <class In, class Out, ownership O> struct mapped {
  static constexpr counts expected() {
    return {.global_loads = whole_accesses<O, In>(), .global_stores = whole_accesses<O, Out>()};
  }
};

struct select_and_multiply_add : mapped<float, float, local_rows> {
  static TYLO_FN void run(arguments const& g) {
    auto const x = load_all<local_rows, float>(g);
    auto const y = map([](float v, float a, float b) { return fused_multiply_add(v, a, b); }, x, g.a, g.b);
    store_all(g, select(x > 0.0f, y, x * 0.25f));
  }
};

struct powers_of_two : mapped<float, float, mma_c> {
  static constexpr counts expected() {
    auto c = mapped::expected();
    c.powers = mma_c.slots();
    return c;
  }
  static TYLO_FN void run(arguments const& g) {
    store_all(g, map([](float v, float a, float b) { return exp2_approximate(fused_multiply_add(v, a, b)); },
                     load_all<mma_c, float>(g), g.a, g.b));
  }
};

/// Two elements with each instruction, or none.
template <class From, class To, ownership O, int Instructions> struct converted : mapped<From, To, O> {
  static constexpr counts expected() {
    auto c = mapped<From, To, O>::expected();
    c.conversions = Instructions;
    return c;
  }
  static TYLO_FN void run(arguments const& g) { store_all(g, convert<To>(load_all<O, From>(g))); }
};
struct fp32_to_bf16 : converted<float, bf16, local_rows, local_rows.slots() / 2> {};
struct fp32_to_fp16 : converted<float, fp16, local_rows, local_rows.slots() / 2> {};
struct fp32_to_e4m3 : converted<float, e4m3, row_of_16, row_of_16.slots() / 2> {};
struct bf16_to_fp32 : converted<bf16, float, local_rows, 0> {};
struct packed_to_bf16 : converted<float, bf16, scores, scores.slots() / 2> {
  static TYLO_FN void run(arguments const& g) { store_all(g, unpack(pack<bf16>(load_all<scores, float>(g)))); }
};

// --- reductions, taken away from what was reduced

template <class Join, ownership O, axis Along> struct reduction : mapped<float, float, O> {
  static constexpr int results = reduced<O, Along>.slots();
  static constexpr counts expected() {
    auto c = mapped<float, float, O>::expected();
    c.shuffles = std::popcount(distances_of<O, Along>) * results;
    return c;
  }
  static TYLO_FN void run(arguments const& g) {
    auto const x = load_all<O, float>(g);
    store_all(g, x - reduce<Along>(usual_group<O>{}, x, Join{}));
  }
};
template <ownership O, axis Along> using sum = reduction<add_values, O, Along>;
template <ownership O, axis Along> using most = reduction<larger_value, O, Along>;

struct sum_in_threads : sum<local_rows, axis::columns> {};
struct sum_across_lanes : sum<local_rows, axis::rows> {};
struct max_in_threads : most<local_rows, axis::columns> {};
struct sum_of_a_striped_row : sum<striped_row, axis::columns> {};
struct max_of_a_striped_row : most<striped_row, axis::columns> {};
struct max_of_a_striped_column : most<striped_column, axis::rows> {};
struct sum_of_rows_of_c : sum<mma_c, axis::columns> {};
struct sum_of_columns_of_c : sum<mma_c, axis::rows> {};
struct max_of_rows_of_c : most<mma_c, axis::columns> {};
struct max_of_columns_of_c : most<mma_c, axis::rows> {};
struct sum_of_rows_of_wide_c : sum<wide_c, axis::columns> {};
struct max_of_columns_of_wide_c : most<wide_c, axis::rows> {};
struct sum_of_rows_of_wgmma : sum<wgmma_64, axis::columns> {};
struct max_of_rows_of_wgmma : most<wgmma_64, axis::columns> {};
struct sum_of_rows_of_patches : sum<patches, axis::columns> {};
struct sum_of_columns_of_patches : sum<patches, axis::rows> {};
struct max_with_replicas : most<mixed_lanes, axis::columns> {};

/// Four warps side by side, whose results lie in shared memory once for each lane.
struct sum_across_warps : sum<c_1x4, axis::columns> {
  static constexpr counts expected() {
    auto c = sum<c_1x4, axis::columns>::expected();
    c.barriers = 2;
    c.shared_stores.less = results;
    c.shared_loads.less = 4 * results;
    return c;
  }
  static TYLO_FN void run(arguments const& g) {
    auto const x = load_all<c_1x4, float>(g);
    auto* const scratch = reinterpret_cast<float*>(shared_memory());
    store_all(g, x - reduce_across_warps<axis::columns>(whole_cta<128>{}, x, add_values{}, scratch));
  }
};

// --- online softmax

struct softmax_update : mapped<float, float, scores> {
  using state = online_softmax<axis::columns, scores>;
  static constexpr ownership lines = reduced<scores, axis::columns>;

  static constexpr counts expected() {
    auto c = mapped::expected();
    c.global_loads.less += 2 * lines.slots();
    c.shuffles = 2 * std::popcount(distances_of<scores, axis::columns>) * lines.slots(); // maximum and sum
    c.powers = scores.slots() + lines.slots();                                           // weights and factors
    c.reciprocals = 2 * lines.slots();                                                   // scales and normalizers
    return c;
  }
  static TYLO_FN void run(arguments const& g) {
    auto const* const kept = static_cast<float const*>(g.in) + scores.shape.row * scores.shape.column;
    auto const load_lines = [](float const* from) {
      return load<lines>(this_warp{}, tile_of(from, row_major<16, 1>()), 0.0f);
    };
    state seen{load_lines(kept), load_lines(kept + 16)};
    auto const step = seen.update(this_warp{}, load_all<scores, float>(g), g.a);
    store_all(g, step.weights * (step.rescale * seen.normalizer()));
  }
};

// --- loads and stores

/// 8 elements of bf16 a thread, of rows with a pitch known at run time.
struct rows_by_vectors {
  static constexpr counts expected() { return {.global_loads = {.of_16 = 1}, .global_stores = {.of_16 = 1}}; }
  template <class T> static TYLO_FN auto part(T* memory, arguments const& g) {
    auto const all = tile_of<16>(memory, row_major(g.rows, g.columns, multiple_of<8>{g.columns}));
    return window<32, 8>(all, 0, multiple_of<8>{8});
  }
  static TYLO_FN void run(arguments const& g) {
    auto const x = load<local_rows>(this_warp{}, part(static_cast<bf16 const*>(g.in), g), bf16{}, whole_vectors{});
    store(this_warp{}, part(static_cast<bf16*>(g.out), g), x, whole_vectors{});
  }
};

/// The same of a tile that may end inside of vectors: then element by element.
struct ragged_rows : rows_by_vectors {
  static constexpr counts expected() {
    return {.global_loads = {.of_16 = 1, .less = local_rows.slots()},
            .global_stores = {.of_16 = 1, .less = local_rows.slots()}};
  }
  static TYLO_FN void run(arguments const& g) {
    auto const x = load<local_rows>(this_warp{}, part(static_cast<bf16 const*>(g.in), g), bf16{});
    store(this_warp{}, part(static_cast<bf16*>(g.out), g), x);
  }
};

/// The sum of a row that may end inside of vectors: the lanes have gone their own ways before they join.
struct sum_of_a_ragged_row {
  static constexpr counts expected() {
    return {.global_loads = {.of_16 = 3, .less = striped_row.slots()},
            .global_stores = {.of_16 = 3},
            .shuffles = std::popcount(distances_of<striped_row, axis::columns>)};
  }
  static TYLO_FN void run(arguments const& g) {
    auto part = whole_tile<striped_row>(static_cast<float const*>(g.in));
    part.extents.column = g.columns;
    auto const x = load<striped_row>(this_warp{}, part, 0.0f);
    store_all(g, x - tylo::sum<axis::columns>(this_warp{}, x));
  }
};

/// Through shared memory as wgmma wants it, rows of 128 bytes.
template <class T, ownership O> struct through_swizzled : mapped<T, T, O> {
  static TYLO_FN auto staged() {
    constexpr auto mode = hardware_swizzle(128, sizeof(T));
    auto const map = swizzled<mode>(row_major<O.shape.row, O.shape.column>());
    static_assert(O.shape.column * sizeof(T) == 128);
    return tile_of<1024>(reinterpret_cast<T*>(shared_memory()), map);
  }
  static constexpr counts expected() {
    auto c = mapped<T, T, O>::expected();
    c.shared_loads = c.shared_stores = accesses<O, decltype(staged()), T>();
    return c;
  }
  static TYLO_FN void run(arguments const& g) {
    auto const group = usual_group<O>{};
    store(group, staged(), load_all<O, T>(g), whole_vectors{});
    group.sync();
    store_all(g, load<O>(group, staged(), T{}, whole_vectors{}));
  }
};
struct swizzled_rows_of_fp32 : through_swizzled<float, local<axis::columns>(32)> {};
struct swizzled_rows_of_bf16 : through_swizzled<bf16, local<axis::columns>(64)> {};
struct swizzled_sums : through_swizzled<bf16, tiled(mma_c, {1, 8})> {};

struct copied_rows : mapped<float, float, local_rows> {
  static TYLO_FN void run(arguments const& g) { store_all(g, load_all<local_rows, float>(g)); }
};
/// As if the axes had not been exchanged.
struct exchanged_axes : copied_rows {
  static constexpr char const* same_as = "copied_rows";
  static TYLO_FN void run(arguments const& g) {
    auto const x = exchanged(load_all<local_rows, float>(g));
    store(this_warp{}, exchanged(whole_tile<local_rows>(static_cast<float*>(g.out))), x, whole_vectors{});
  }
};

// --- what must be refused, and the word for it

struct planted_index : copied_rows {
  static constexpr char const* planted = "local memory";
  static TYLO_FN void run(arguments const& g) {
    auto x = load_all<local_rows, float>(g);
    for (int i = 0; i < g.rows; ++i) x.data[i * g.columns % 8] += x.data[i % 8];
    store_all(g, x);
  }
};
struct planted_division : copied_rows {
  static constexpr char const* planted = "a call";
  static TYLO_FN void run(arguments const& g) { store_all(g, load_all<local_rows, float>(g) / g.a); }
};
struct planted_shuffle : copied_rows {
  static constexpr char const* planted = "1 SHFL";
  static TYLO_FN void run(arguments const& g) {
    auto x = load_all<local_rows, float>(g);
    x.data[0] = shuffle(x.data[0], 1);
    store_all(g, x);
  }
};
struct planted_single_loads : copied_rows {
  static constexpr char const* planted = "0 LDG.128";
  static TYLO_FN void run(arguments const& g) {
    auto const from = tile_of(static_cast<float const*>(g.in), row_major<32, 8>());
    store_all(g, load<local_rows>(this_warp{}, from, 0.0f));
  }
};

} // namespace gates

// clang-format off
#define MK_GATES(X)                                                                                                    \
  X(select_and_multiply_add) X(powers_of_two) X(fp32_to_bf16) X(fp32_to_fp16) X(fp32_to_e4m3) X(bf16_to_fp32)          \
  X(packed_to_bf16) X(sum_in_threads) X(sum_across_lanes) X(max_in_threads) X(sum_of_a_striped_row)                    \
  X(max_of_a_striped_row) X(max_of_a_striped_column) X(sum_of_rows_of_c) X(sum_of_columns_of_c) X(max_of_rows_of_c)    \
  X(max_of_columns_of_c) X(sum_of_rows_of_wide_c) X(max_of_columns_of_wide_c) X(sum_of_rows_of_wgmma)                  \
  X(max_of_rows_of_wgmma) X(sum_of_rows_of_patches) X(sum_of_columns_of_patches) X(max_with_replicas)                  \
  X(sum_across_warps) X(softmax_update) X(rows_by_vectors) X(ragged_rows) X(sum_of_a_ragged_row)                       \
  X(swizzled_rows_of_fp32) X(swizzled_rows_of_bf16) X(swizzled_sums) X(copied_rows) X(exchanged_axes)                  \
  X(planted_index) X(planted_division) X(planted_shuffle) X(planted_single_loads)
// clang-format on

#define MK_GATE_KERNEL(name)                                                                                           \
  extern "C" __global__ void name(arguments const g) { gates::name::run(g); }
MK_GATES(MK_GATE_KERNEL)

void print(char const* load, char const* store, widths const& loads, widths const& stores) {
  std::printf("\"%s.128\": %d, \"%s.64\": %d, \"%s\": %d, ", load, loads.of_16, load, loads.of_8, load, loads.less);
  std::printf("\"%s.128\": %d, \"%s.64\": %d, \"%s\": %d, ", store, stores.of_16, store, stores.of_8, store,
              stores.less);
}

template <class Gate> void print(char const* name, bool first) {
  constexpr counts c = Gate::expected();
  std::printf("%s\n\"%s\": {\"counts\": {", first ? "" : ",", name);
  print("LDG", "STG", c.global_loads, c.global_stores);
  print("LDS", "STS", c.shared_loads, c.shared_stores);
  std::printf("\"SHFL\": %d, \"BAR\": %d, \"MUFU.EX2\": %d, \"MUFU.RCP\": %d, \"F2FP\": %d}", c.shuffles, c.barriers,
              c.powers, c.reciprocals, c.conversions);
  if constexpr (requires { Gate::planted; }) std::printf(", \"planted\": \"%s\"", Gate::planted);
  if constexpr (requires { Gate::same_as; }) std::printf(", \"same_as\": \"%s\"", Gate::same_as);
  std::printf("}");
}

} // namespace mk::test

int main() {
  bool first = true;
  std::printf("{");
#define MK_PRINT_GATE(name)                                                                                            \
  mk::test::print<mk::test::gates::name>(#name, first);                                                                \
  first = false;
  MK_GATES(MK_PRINT_GATE)
  std::printf("\n}\n");
}
