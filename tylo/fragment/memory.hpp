#pragma once

/// Fragments from tiles in memory, and back: any ownership, any layout, global or shared memory.
///
///     auto const x = load<rows_of_8>(this_warp{}, tile, bf16(0.0f));     // outside of the tile: 0
///     store(this_warp{}, other_tile, x);                                 // outside of the tile: nothing
///
/// Neighbouring slots that are neighbours in memory are moved together, 16, 8 or 4 bytes at once, as far as the layout,
/// the claimed alignment and the ownership allow: `vector_elements` of layout/tile.hpp. A vector that lies partly
/// outside of the tile is moved element by element. Elements outside are neither read nor written.

#include <megakernels/tylo/fragment/convert.hpp>
#include <megakernels/tylo/fragment/fragment.hpp>
#include <megakernels/tylo/group.hpp>
#include <megakernels/tylo/lane/cache_policy.hpp>
#include <megakernels/tylo/layout/tile.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tylo {

/// The caller knows that no vector lies partly outside of the tile: its extent along the vectors is a multiple of them.
/// Host code throws std::invalid_argument where that is not so.
struct whole_vectors {};
/// Nothing is known.
struct any_vectors {};

/// In place of a cache_policy: as the cache likes.
struct any_policy {};

namespace detail {

/// So many bytes that one instruction moves.
template <std::size_t Bytes> struct alignas(Bytes) vector_of_bytes {
  std::uint32_t words[Bytes / 4];
};

/// What has the bits of an element of 8 or 16 bits. It may be of any type, also one that is never converted.
template <class T> using element_bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;

/// Elements from and to words: by bits, which stay in registers, where memory would not.
template <int Length, class T> TYLO_FN void from_words(vector_of_bytes<Length * sizeof(T)> vector, T* to) {
  if constexpr (sizeof(T) < 4) {
    TYLO_UNROLL for (int i = 0; i < Length; ++i) {
      auto const word = vector.words[i / per_word<T>] >> 8 * int(sizeof(T)) * (i % per_word<T>);
      to[i] = std::bit_cast<T>(static_cast<element_bits<T>>(word));
    }
  } else {
    std::memcpy(to, &vector, sizeof vector);
  }
}
template <int Length, class T> TYLO_FN auto to_words(T const* from) {
  vector_of_bytes<Length * sizeof(T)> vector{};
  if constexpr (sizeof(T) < 4) {
    TYLO_UNROLL for (int i = 0; i < Length; ++i) {
      auto const bits = static_cast<std::uint32_t>(std::bit_cast<element_bits<T>>(from[i]));
      vector.words[i / per_word<T>] |= bits << 8 * int(sizeof(T)) * (i % per_word<T>);
    }
  } else {
    std::memcpy(&vector, from, sizeof vector);
  }
  return vector;
}

/// The axis along which a plan's vectors lie: that of neighbouring slots.
template <ownership O, int Length>
inline constexpr axis vector_axis = [] {
  constexpr auto& table = table_of<O>;
  return Length > 1 && table.slot[Length > 1 ? 1 : 0].column != 0 ? axis::columns : axis::rows;
}();

/// The first of equal owners is the one whose digits that do not move are 0: the others do not store.
constexpr bool is_first_owner(mode const& m, unsigned index) {
  bool first = true;
  for (int i = 0; i < m.leaves; ++i) {
    auto const count = static_cast<unsigned>(m.at(i).count);
    if (m.at(i).step == coordinate{}) first = first && index % count == 0;
    index /= count;
  }
  return first;
}

constexpr int still_digits(mode const& m) {
  int count = 1;
  for (int i = 0; i < m.leaves; ++i)
    if (m.at(i).step == coordinate{}) count *= m.at(i).count;
  return count;
}

/// Whether replicas are told apart by such digits.
template <ownership O>
inline constexpr bool has_first_owners = replicas<O> == still_digits(O.thread) * still_digits(O.slot);

/// Length neighbours from memory; those outside of the tile are `outside`.
template <axis Along, int Length, class Edge, class T, layout_form Form, std::int64_t Alignment>
TYLO_FN void load_vector(tile<T, Form, Alignment> const& t, coordinate at, std::remove_const_t<T> outside,
                         std::remove_const_t<T>* to) {
  if constexpr (Length == 1) {
    to[0] = t.contains(at) ? *t.address(at) : outside;
  } else if constexpr (std::is_same_v<Edge, whole_vectors>) {
    TYLO_UNROLL for (int i = 0; i < Length; ++i) to[i] = outside;
    auto vector = to_words<Length>(to);
    if (t.contains(at)) vector = *reinterpret_cast<decltype(vector) const*>(t.address(at)); // no branch: a predicate
    from_words<Length>(vector, to);
  } else if (t.contains(at) && t.contains(at + step_along(Along, Length - 1))) {
    from_words<Length>(*reinterpret_cast<vector_of_bytes<Length * sizeof(T)> const*>(t.address(at)), to);
  } else {
    TYLO_UNROLL for (int i = 0; i < Length; ++i) {
      auto const one = at + step_along(Along, i);
      to[i] = t.contains(one) ? *t.address(one) : outside;
    }
  }
}

template <axis Along, int Length, class Edge, class Cache, class T, layout_form Form, std::int64_t Alignment>
TYLO_FN void store_vector(tile<T, Form, Alignment> const& t, coordinate at, T const* from, Cache const& cache) {
  constexpr bool whole = std::is_same_v<Edge, whole_vectors>;
  if constexpr (Length == 1) {
    if (t.contains(at)) *t.address(at) = from[0];
  } else if (t.contains(at) && (whole || t.contains(at + step_along(Along, Length - 1)))) {
    auto const vector = to_words<Length>(from);
    auto* const to = reinterpret_cast<std::remove_const_t<decltype(vector)>*>(t.address(at));
    if constexpr (std::is_same_v<Cache, cache_policy> && sizeof vector == 16)
      cache.store(to, vector);
    else
      *to = vector;
  } else if constexpr (!whole) {
    TYLO_UNROLL for (int i = 0; i < Length; ++i) {
      auto const one = at + step_along(Along, i);
      if (t.contains(one)) *t.address(one) = from[i];
    }
  }
}

template <class Edge, int Length, ownership O> TYLO_FN void check_edge([[maybe_unused]] coordinate extents) {
  if constexpr (std::is_same_v<Edge, whole_vectors> && Length > 1)
    check_multiple("the extent of a tile of whole vectors", extents.along(vector_axis<O, Length>), Length);
}

} // namespace detail

/// The elements of a tile that the calling thread of the group owns; those that the tile does not have are `outside`.
template <ownership O, group G, class T, layout_form Form, std::int64_t Alignment, class Edge = any_vectors>
TYLO_FN auto load(G const& g, tile<T, Form, Alignment> const& t, std::remove_const_t<T> outside, Edge = {}) {
  static_assert(G::threads == O.threads(), "tylo: the group has not as many threads as own the fragment");
  static_assert(is_in_bounds<O>, "tylo: a thread has elements outside of the ownership's tile");
  using element = std::remove_const_t<T>;
  constexpr int length = vector_elements<O, Form, Alignment, int(sizeof(element))>;
  detail::check_edge<Edge, length, O>(t.extents);
  fragment<element, O> result;
  auto const first = O.thread(g.rank());
  TYLO_UNROLL for (int s = 0; s < result.slots; s += length)
      detail::load_vector<detail::vector_axis<O, length>, length, Edge>(t, first + O.slot(static_cast<unsigned>(s)),
                                                                        outside, result.data + s);
  return result;
}

/// The calling thread's elements into a tile, as far as it has them. Of replicas one thread stores. A cache_policy is
/// for tiles in global memory.
template <group G, class T, layout_form Form, std::int64_t Alignment, ownership O, class Edge = any_vectors,
          class Cache = any_policy>
TYLO_FN void store(G const& g, tile<T, Form, Alignment> const& t, fragment<T, O> const& f, Edge = {},
                   Cache const& cache = {}) {
  static_assert(G::threads == O.threads(), "tylo: the group has not as many threads as own the fragment");
  static_assert(is_in_bounds<O>, "tylo: a thread has elements outside of the ownership's tile");
  static_assert(
      detail::has_first_owners<O>,
      "tylo: elements of the tile have no owner, or several of which none is the first: who stores is not clear");
  constexpr int length = vector_elements<O, Form, Alignment, int(sizeof(T))>;
  detail::check_edge<Edge, length, O>(t.extents);
  if (!detail::is_first_owner(O.thread, g.rank())) return;
  auto const first = O.thread(g.rank());
  TYLO_UNROLL for (int s = 0; s < f.slots; s += length) {
    auto const slot = static_cast<unsigned>(s);
    if (detail::is_first_owner(O.slot, slot))
      detail::store_vector<detail::vector_axis<O, length>, length, Edge>(t, first + O.slot(slot), f.data + s, cache);
  }
}

} // namespace tylo
