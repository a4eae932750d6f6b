#include "models/text/bpe_merges.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace mk {
namespace {

constexpr std::uint32_t none = 0xffffffff;
constexpr token_id gone = -1;

std::uint64_t key_of(token_id left, token_id right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

struct node {
  token_id token;
  std::uint32_t previous;
  std::uint32_t next;
};

/// A merge that was possible when it was queued: still is where both nodes hold the same tokens.
struct candidate {
  std::uint32_t rank;
  std::uint32_t position;
  token_id left;
  token_id right;
  token_id merged;

  bool operator>(candidate const& other) const {
    return std::tie(rank, position) > std::tie(other.rank, other.position);
  }
};

std::vector<node> chain_of(std::vector<token_id> const& tokens) {
  std::vector<node> nodes;
  nodes.reserve(tokens.size());
  for (auto const token : tokens) {
    auto const index = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({token, index == 0 ? none : index - 1, index + 1});
  }
  nodes.back().next = none;
  return nodes;
}

/// Puts the merged token into the left node and takes the right one out of the chain.
void join(std::vector<node>& nodes, std::uint32_t left, token_id merged) {
  auto const right = nodes[left].next;
  auto const after = nodes[right].next;
  nodes[left].token = merged;
  nodes[left].next = after;
  nodes[right].token = gone;
  if (after != none) nodes[after].previous = left;
}

} // namespace

void bpe_merges::add(token_id left, token_id right, token_id merged, std::uint32_t rank) {
  merges_.try_emplace(key_of(left, right), merge{rank, merged});
}

bpe_merges::merge const* bpe_merges::find(token_id left, token_id right) const noexcept {
  auto const found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void bpe_merges::apply(std::vector<token_id>& tokens) const {
  if (tokens.size() < 2) return;
  auto nodes = chain_of(tokens);
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> queue;
  auto const consider = [&](std::uint32_t position) {
    if (position == none || nodes[position].next == none) return;
    auto const left = nodes[position].token;
    auto const right = nodes[nodes[position].next].token;
    if (auto const* const found = find(left, right)) queue.push({found->rank, position, left, right, found->merged});
  };
  for (std::uint32_t i = 0; i < nodes.size(); ++i) consider(i);
  while (!queue.empty()) {
    auto const best = queue.top();
    queue.pop();
    auto const& at = nodes[best.position];
    if (at.token != best.left || at.next == none || nodes[at.next].token != best.right) continue;
    join(nodes, best.position, best.merged);
    consider(at.previous);
    consider(best.position);
  }
  tokens.clear();
  for (std::uint32_t i = 0; i != none; i = nodes[i].next) tokens.push_back(nodes[i].token);
}

} // namespace mk
