#pragma once

/// The merges of a byte-pair encoding, on token ids.

#include "models/text/tokenizer_data.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace mk {

/// Which neighbouring tokens become one, and in which order.
class bpe_merges {
public:
  /// Makes `left` and `right` become `merged`; of several merges that are possible the one of lowest `rank` is done
  /// first. The first addition of a pair counts.
  void add(token_id left, token_id right, token_id merged, std::uint32_t rank);

  /// Merges neighbours in `tokens` until no merge is left: again and again the one of lowest rank, of equals the
  /// leftmost. Time grows as n log n.
  void apply(std::vector<token_id>& tokens) const;

private:
  struct merge {
    std::uint32_t rank;
    token_id merged;
  };

  [[nodiscard]] merge const* find(token_id left, token_id right) const noexcept;

  std::unordered_map<std::uint64_t, merge> merges_;
};

} // namespace mk
