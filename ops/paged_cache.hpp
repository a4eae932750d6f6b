#pragma once

/// The paged cache of keys and values as operations see it: pools of blocks, a table of blocks for each sequence, and
/// per-row tables that say which token of which sequence a row of a ragged batch is.
///
///     k_cache, v_cache [blocks, block_size, kv_heads, head_dim]    key or value p of a sequence lies in block
///     block_table      [sequences, blocks_per_sequence] int32      block_table[sequence, p / block_size],
///     length           [sequences] int32                           slot p % block_size
///     sequence         [rows] int32                                -1: a padding row
///     position         [rows] int32                                of the row's token in its sequence
///
/// `length` counts the keys of a sequence, those appended in this step included. Only the blocks that a length needs
/// are looked at; other entries of the table and other slots of the pools may hold any bits. The capacity of a
/// sequence is blocks_per_sequence * block_size.
/// Source: Kwon and others, Efficient Memory Management for Large Language Model Serving with PagedAttention, 2023.

#include <megakernels/ops/operation.hpp>

namespace mk {

/// Where a node has the parts of its cache: numbers of its slots.
struct paged_slots {
  int k_cache;
  int v_cache;
  int block_table;
};

/// Refuses caches and tables that do not have the shapes above: the cache's axes are fixed and not empty (the number
/// of blocks may be 0), keys and values have equal shapes and floating types, products of extents fit 62 bits.
void expect_paged_cache(shape_query const&, paged_slots);

/// The operand is int32 with one axis, equally long as the given axis of another operand.
void expect_index_table(shape_query const&, int slot, int other_slot, int other_axis);

/// An element of an int32 table.
template <class... Index> TYLO_FN std::int32_t index_at(tensor_view const& table, Index... index) {
  std::int32_t value;
  std::memcpy(&value, __builtin_assume_aligned(table.at(index...), alignof(std::int32_t)), sizeof value);
  return value;
}

/// The extents of a cache, and the way from a position to a block.
struct paged_cache {
  std::int64_t blocks = 0;
  std::int64_t block_size = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t sequences = 0;
  std::int64_t blocks_per_sequence = 0;

  TYLO_FN paged_cache(tensor_view const& cache, tensor_view const& block_table)
      : blocks(cache.extent(0)), block_size(cache.extent(1)), kv_heads(cache.extent(2)), head_dim(cache.extent(3)),
        sequences(block_table.extent(0)), blocks_per_sequence(block_table.extent(1)) {}

  TYLO_FN std::int64_t capacity() const { return blocks_per_sequence * block_size; }
  TYLO_FN bool has_sequence(std::int64_t sequence) const { return sequence >= 0 && sequence < sequences; }

  /// The column of a sequence's table that a position belongs to. Division of 64-bit numbers is long on a GPU.
  TYLO_FN std::int64_t column_of(std::uint32_t position) const {
    return block_size <= 0xFFFFFFFF ? position / static_cast<std::uint32_t>(block_size) : 0;
  }

  /// The block in a column of a sequence's table, or -1 where the entry is none. The coordinates must be within the
  /// table.
  TYLO_FN std::int64_t block_of(tensor_view const& block_table, std::int64_t sequence, std::int64_t column) const {
    std::int64_t const block = index_at(block_table, sequence, column);
    return block >= 0 && block < blocks ? block : -1;
  }
};

/// Throws `submit_error` where a row names a sequence that is neither -1 nor one of the table's.
void check_sequences(std::string_view operation, tensor_view const& sequence, std::int64_t sequences);

/// Throws `submit_error` where a block of a sequence's table is not one of the pool's.
void check_block(std::string_view operation, paged_cache const&, tensor_view const& block_table, std::int64_t sequence,
                 std::int64_t column);

} // namespace mk
