/// Products of a warp, and the loads and stores of their matrices. The last lane to arrive does it for all 32.

#include <megakernels/tylo/emulator/internal/arena.hpp>
#include <megakernels/tylo/emulator/internal/collective.hpp>
#include <megakernels/tylo/emulator/internal/matrix_arithmetic.hpp>
#include <megakernels/tylo/emulator/lane.hpp>

#include <cstring>
#include <vector>

namespace tylo::emulator {
namespace {

/// What a lane has of a matrix product: `rows` x `columns` tiles of sums.
struct lane_product {
  float* sums;
  std::uint32_t const* a;
  std::uint32_t const* b;
  unsigned rows, columns, depth;
};

constexpr unsigned tile_columns = 8;
constexpr unsigned a_registers = 4, b_registers = 2, sum_registers = 4;

using a_tile = float[matrix_rows][matrix_depth];
using b_tile = float[matrix_depth][tile_columns];
using sum_tile = float[matrix_rows][tile_columns];

lane_product const& product_of(warp const& w, unsigned lane) {
  return *static_cast<lane_product const*>(w.lanes[lane]->argument);
}

/// Register i of tile `tile` of every lane, put where its two elements belong.
template <auto Convert> void gather_a(warp const& w, unsigned tile, a_tile& to) {
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    auto const* const from = product_of(w, lane).a + tile * a_registers;
    auto const row = lane / 4, column = lane % 4 * 2;
    for (unsigned i = 0; i < a_registers; ++i) {
      auto* const two = &to[row + i % 2 * 8][column + i / 2 * 8];
      two[0] = Convert(from[i] & 0xFFFFu);
      two[1] = Convert(from[i] >> 16);
    }
  }
}

template <auto Convert> void gather_b(warp const& w, unsigned tile, b_tile& to) {
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    auto const* const from = product_of(w, lane).b + tile * b_registers;
    auto const row = lane % 4 * 2, column = lane / 4;
    for (unsigned i = 0; i < b_registers; ++i) {
      to[row + i * 8][column] = Convert(from[i] & 0xFFFFu);
      to[row + i * 8 + 1][column] = Convert(from[i] >> 16);
    }
  }
}

/// Calls `each(element, sum)` for all sums of a tile.
template <class F> void for_sums(warp const& w, unsigned tile, sum_tile& elements, F each) {
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    auto* const sums = product_of(w, lane).sums + tile * sum_registers;
    for (unsigned i = 0; i < sum_registers; ++i) each(elements[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2], sums[i]);
  }
}

template <auto Convert> void carry_out_mma(warp& w) {
  alignas(32) a_tile a;
  alignas(32) b_tile b;
  alignas(32) sum_tile sums;
  gather_a<Convert>(w, 0, a);
  gather_b<Convert>(w, 0, b);
  for_sums(w, 0, sums, [](float& element, float& sum) { element = sum; });
  multiply_add(&sums[0][0], &a[0][0], &b[0][0], tile_columns);
  for_sums(w, 0, sums, [](float& element, float& sum) { sum = element; });
  ++launch_now->counts.products;
}

template <auto Convert> void carry_out_tiles(warp& w) {
  struct unpacked_b {
    b_tile tile;
  };
  auto const& first = product_of(w, 0);
  auto const rows = first.rows, columns = first.columns, depth = first.depth;
  static thread_local std::vector<unpacked_b> b;
  b.resize(std::size_t(columns) * depth);
  for (unsigned i = 0; i < columns * depth; ++i) gather_b<Convert>(w, i, b[i].tile);
  alignas(32) a_tile a;
  alignas(32) sum_tile sums;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned d = 0; d < depth; ++d) {
      gather_a<Convert>(w, r * depth + d, a);
      for (unsigned c = 0; c < columns; ++c) {
        for_sums(w, r * columns + c, sums, [](float& element, float& sum) { element = sum; });
        multiply_add(&sums[0][0], &a[0][0], &b[c * depth + d].tile[0][0], tile_columns);
        for_sums(w, r * columns + c, sums, [](float& element, float& sum) { sum = element; });
      }
    }
  launch_now->counts.products += std::uint64_t(rows) * columns * depth;
}

// --- matrices of 8 x 8 elements of 16 bits

struct lane_matrices {
  std::uint32_t* registers;
  std::byte* row;
  unsigned count;
  bool transposed;
};

constexpr unsigned matrix_side = 8;
using small_matrix = std::uint16_t[matrix_side][matrix_side];

lane_matrices const& matrices_of(warp const& w, unsigned lane) {
  return *static_cast<lane_matrices const*>(w.lanes[lane]->argument);
}

/// Calls `each(register, first element, second element)` of every lane's register of a matrix.
template <class F> void for_registers(warp const& w, unsigned number, small_matrix& matrix, F each) {
  bool const transposed = matrices_of(w, 0).transposed;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    auto const one = lane / 4, two = lane % 4 * 2;
    auto& r = matrices_of(w, lane).registers[number];
    transposed ? each(r, matrix[two][one], matrix[two + 1][one]) : each(r, matrix[one][two], matrix[one][two + 1]);
  }
}

void carry_out_load(warp& w) {
  for (unsigned i = 0; i < matrices_of(w, 0).count; ++i) {
    small_matrix matrix;
    for (unsigned r = 0; r < matrix_side; ++r)
      std::memcpy(matrix[r], matrices_of(w, i * matrix_side + r).row, sizeof matrix[r]);
    for_registers(w, i, matrix, [](std::uint32_t& both, std::uint16_t first, std::uint16_t second) {
      both = first | std::uint32_t(second) << 16;
    });
  }
}

void carry_out_store(warp& w) {
  for (unsigned i = 0; i < matrices_of(w, 0).count; ++i) {
    small_matrix matrix;
    for_registers(w, i, matrix, [](std::uint32_t both, std::uint16_t& first, std::uint16_t& second) {
      first = static_cast<std::uint16_t>(both);
      second = static_cast<std::uint16_t>(both >> 16);
    });
    for (unsigned r = 0; r < matrix_side; ++r)
      std::memcpy(matrices_of(w, i * matrix_side + r).row, matrix[r], sizeof matrix[r]);
  }
}

/// The row that a lane gives the address of is an access of that lane.
void check_row(void const* row, unsigned count, bool write, char const* what, code_position position, site at) {
  auto& state = *launch_now;
  auto const& self = *thread_now;
  if (self.lane() >= count * matrix_side) return;
  constexpr std::size_t row_bytes = matrix_side * sizeof(std::uint16_t);
  auto const refuse = [&](fault_kind kind, char const* why) {
    state.raise(kind, std::string(what) + " at " + text_of(at) + ": the row at " + name_of_address(row) + why);
  };
  if (reinterpret_cast<std::uintptr_t>(row) % row_bytes != 0) refuse(fault_kind::alignment, " is no multiple of 16");
  if (!is_own_shared(row)) refuse(fault_kind::bounds, " is not in shared memory of the CTA");
  check_access(row, row_bytes, {.write = write}, position, at);
}

} // namespace

void mma(float* sums, std::uint32_t const* a, std::uint32_t const* b, factor_type type, site at) {
  inside_emulator const inside;
  lane_product p{sums, a, b, 1, 1, 1};
  if (type == factor_type::bf16)
    collective("mma of bf16", true, at, &p, &carry_out_mma<&float_of_bf16>);
  else
    collective("mma of fp16", true, at, &p, &carry_out_mma<&float_of_fp16>);
}

void mma_tiles(float* sums, std::uint32_t const* a, std::uint32_t const* b, unsigned rows, unsigned columns,
               unsigned depth, factor_type type, site at) {
  if (!is_batched()) {
    for (unsigned d = 0; d < depth; ++d)
      for (unsigned r = 0; r < rows; ++r)
        for (unsigned c = 0; c < columns; ++c)
          mma(sums + (r * columns + c) * sum_registers, a + (r * depth + d) * a_registers,
              b + (c * depth + d) * b_registers, type, at);
    return;
  }
  inside_emulator const inside;
  lane_product p{sums, a, b, rows, columns, depth};
  if (type == factor_type::bf16)
    collective("mma_tiles of bf16", true, at, &p, &carry_out_tiles<&float_of_bf16>);
  else
    collective("mma_tiles of fp16", true, at, &p, &carry_out_tiles<&float_of_fp16>);
}

void load_matrices(std::uint32_t* to, void const* row, unsigned count, bool transposed, site at) {
  inside_emulator const inside;
  check_row(row, count, false, "load_matrices", position_of(__builtin_return_address(0)), at);
  lane_matrices m{to, static_cast<std::byte*>(const_cast<void*>(row)), count, transposed};
  collective("load_matrices", true, at, &m, &carry_out_load);
}

void store_matrices(void* row, std::uint32_t const* from, unsigned count, bool transposed, site at) {
  inside_emulator const inside;
  check_row(row, count, true, "store_matrices", position_of(__builtin_return_address(0)), at);
  lane_matrices m{const_cast<std::uint32_t*>(from), static_cast<std::byte*>(row), count, transposed};
  collective("store_matrices", true, at, &m, &carry_out_store);
}

} // namespace tylo::emulator
