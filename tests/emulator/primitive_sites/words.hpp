#pragma once

/// What the small kernels take and must make of it, and runs of those that make words of words.

#include <megakernels/tylo/lane/barrier.hpp>

#include "../kit.hpp"
#include "../lane_data.hpp"
#include "../lane_kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mk::test::primitive_sites {

using word = std::uint32_t;
using word_list = std::vector<word>;

inline constexpr unsigned piece = 64, pieces = 8; ///< words of a piece, and pieces
inline constexpr unsigned all_words = piece * pieces;

inline word_list const& some_words() {
  static auto const words = any_bits<word>(all_words, 17);
  return words;
}

/// Each word plus one, and the words of each `part` backwards.
inline word_list raised_backwards(unsigned part) {
  word_list result(all_words);
  for (unsigned i = 0; i < all_words; ++i) result[i] = some_words()[i / part * part + part - 1 - i % part] + 1;
  return result;
}
inline word_list raised() { return raised_backwards(1); }

/// Shared memory behind so many words.
inline mbarrier* barriers_behind(unsigned words) { return reinterpret_cast<mbarrier*>(shared_words() + words); }

/// A kernel that makes words of `some_words`; the first of them are looked at.
using word_kernel = void (*)(word const*, word*);
template <word_kernel Kernel> bool makes(grid const& g, options const& how, word_list const& expected) {
  array<word> const from(some_words()), to(2 * all_words);
  launch(g, how, [from = from.data(), to = to.data()] { Kernel(from, to); });
  return std::equal(expected.begin(), expected.end(), to.data());
}

} // namespace mk::test::primitive_sites
