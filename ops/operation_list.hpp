#pragma once

/// Lists of operations. A program is made for one list and carries its hash; a device that holds another list refuses
/// the program.

#include <megakernels/ops/operation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace mk {

/// A list as a value: the operations in the order in which programs number them, and the hash of what they are.
struct operation_table {
  std::span<operation const> operations;
  std::uint64_t hash = 0;

  /// The operation of that name, or null.
  constexpr operation const* find(std::string_view name) const {
    for (auto const& op : operations)
      if (op.name == name) return &op;
    return nullptr;
  }
};

namespace detail {

/// FNV-1a, 64 bits (Fowler, Noll, Vo). Numbers go in byte by byte from the lowest, so that the hash is the same on
/// every machine; a text goes in after its length.
struct fnv1a {
  std::uint64_t state = 14695981039346656037u;

  constexpr void add_byte(std::uint8_t byte) { state = (state ^ byte) * 1099511628211u; }
  constexpr void add_number(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<std::uint8_t>(number >> (8 * i)));
  }
  constexpr void add_text(std::string_view text) {
    add_number(text.size());
    for (char c : text) add_byte(static_cast<std::uint8_t>(c));
  }
};

} // namespace detail

/// Hash of the operations' names, revisions, sizes of arguments and slots, in order.
constexpr std::uint64_t hash_of(std::span<operation const> operations) {
  detail::fnv1a hash;
  hash.add_number(operations.size());
  for (auto const& op : operations) {
    hash.add_text(op.name);
    hash.add_number(op.revision);
    hash.add_number(op.arguments_bytes);
    hash.add_number(op.slots.size());
    for (auto const& s : op.slots) {
      hash.add_text(s.name);
      hash.add_number(static_cast<std::uint64_t>(s.use));
    }
  }
  return hash.state;
}

/// The list of the given operation structs.
template <class... Ops> struct operation_list {
  static constexpr std::array<operation, sizeof...(Ops)> operations{operation_of<Ops>...};
  static constexpr std::uint64_t hash = hash_of(operations);
  static constexpr operation_table table{operations, hash};
};

} // namespace mk
