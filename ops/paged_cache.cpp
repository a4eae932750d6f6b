#include <megakernels/ops/error.hpp>
#include <megakernels/ops/paged_cache.hpp>

#include <string>

namespace mk {
namespace {

constexpr std::int64_t largest_product = std::int64_t{1} << 62;

/// The product of numbers that are not negative, or more than `largest_product` where it is more.
std::int64_t bounded_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t result = 1;
  for (auto factor : factors)
    if (factor == 0) return 0;
  for (auto factor : factors)
    if (result > largest_product / factor)
      return largest_product + 1;
    else
      result *= factor;
  return result;
}

void expect_fixed(shape_query const& query, int slot, int axis, std::int64_t least) {
  auto const& found = query.axis(slot, axis);
  auto const where = "axis " + std::to_string(axis) + " '" + query.axis_name(slot, axis) + "' is ";
  if (found.is_live()) query.fail(slot, where + "live, expected a fixed length");
  if (found.capacity < least)
    query.fail(slot, where + std::to_string(found.capacity) + ", expected at least " + std::to_string(least));
}

std::string place(std::string_view operation, std::string_view operand) {
  return std::string(operation) + ": " + std::string(operand);
}

} // namespace

void expect_paged_cache(shape_query const& query, paged_slots slots) {
  query.expect_rank(slots.k_cache, 4);
  query.expect_floating(slots.k_cache);
  query.expect_rank(slots.v_cache, 4);
  query.expect_floating(slots.v_cache);
  for (int axis = 0; axis < 4; ++axis) {
    expect_fixed(query, slots.k_cache, axis, axis == 0 ? 0 : 1);
    query.expect_same(slots.v_cache, axis, slots.k_cache, axis);
  }
  query.expect_rank(slots.block_table, 2);
  query.expect_type(slots.block_table, {data_type::int32});
  expect_fixed(query, slots.block_table, 1, 0);

  auto const extent = [&](int axis) { return query.axis(slots.k_cache, axis).capacity; };
  if (bounded_product({extent(0), extent(1), extent(2), extent(3)}) > largest_product ||
      bounded_product({extent(1), extent(2), extent(3)}) > largest_product)
    query.fail(slots.k_cache, "has more than 2^62 elements");
  if (bounded_product({query.axis(slots.block_table, 1).capacity, extent(1)}) > largest_product)
    query.fail(slots.block_table, "covers more than 2^62 tokens");
}

void expect_index_table(shape_query const& query, int slot, int other_slot, int other_axis) {
  query.expect_rank(slot, 1);
  query.expect_type(slot, {data_type::int32});
  query.expect_same(slot, 0, other_slot, other_axis);
}

void check_sequences(std::string_view operation, tensor_view const& sequence, std::int64_t sequences) {
  for (std::int64_t row = 0; row < sequence.extent(0); ++row) {
    auto const value = index_at(sequence, row);
    if (value >= -1 && value < sequences) continue;
    throw submit_error(place(operation, "sequence") + " of row " + std::to_string(row) + " is " +
                       std::to_string(value) + ", expected -1 (padding) to " + std::to_string(sequences - 1));
  }
}

void check_block(std::string_view operation, paged_cache const& cache, tensor_view const& block_table,
                 std::int64_t sequence, std::int64_t column) {
  if (cache.block_of(block_table, sequence, column) >= 0) return;
  throw submit_error(place(operation, "block_table") + " of sequence " + std::to_string(sequence) + ", column " +
                     std::to_string(column) + " is " + std::to_string(index_at(block_table, sequence, column)) +
                     ", expected 0 to " + std::to_string(cache.blocks - 1));
}

} // namespace mk
