#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/ops/sample/distribution.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace mk::sampling {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A token in one number: greater ones rank first. The logit's bits, made to ascend with its value, over the index
/// counted down.
std::uint64_t ranked(float logit, std::size_t index) {
  auto const bits = std::bit_cast<std::uint32_t>(logit + 0.0f); // -0 becomes +0
  auto const ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return std::uint64_t{ascending} << 32 | (0xFFFFFFFFu - static_cast<std::uint32_t>(index));
}

std::int32_t token_of(std::uint64_t rank) {
  return static_cast<std::int32_t>(0xFFFFFFFFu - static_cast<std::uint32_t>(rank));
}

/// Sorts ranks that come in ascending order of index: by the logit's 32 bits alone, since the passes keep the order of
/// equals. `other` is as long as `ranks`.
void sort_by_logit(std::span<std::uint64_t> ranks, std::span<std::uint64_t> other) {
  constexpr std::size_t digits = 2048;
  for (int shift : {32, 43, 54}) {
    std::array<std::size_t, digits> starts{};
    auto const digit = [&](std::uint64_t rank) { return digits - 1 - (rank >> shift) % digits; };
    for (auto rank : ranks) ++starts[digit(rank)];
    std::size_t next = 0;
    for (auto& start : starts) next += std::exchange(start, next);
    for (auto rank : ranks) other[starts[digit(rank)]++] = rank;
    std::swap(ranks, other);
  }
  std::copy(ranks.begin(), ranks.end(), other.begin()); // an odd number of passes
}

/// The tokens of a row by rank, without those of logit -infinity: at first those over a threshold, all when asked.
class ranking {
public:
  /// Lists about `wanted` tokens or more, but not all if less do.
  ranking(std::span<float const> logits, std::size_t wanted) : logits_(logits) {
    auto const threshold = wanted < logits.size() / 16 ? threshold_for(wanted) : -infinity;
    if (threshold == -infinity) {
      list_all();
      return;
    }
    list(threshold);
    std::sort(listed_.begin(), listed_.end(), std::greater<>());
  }

  std::span<std::uint64_t const> listed() const { return listed_; }
  bool all_listed() const { return all_; }

  void list_all() {
    list(std::numeric_limits<float>::lowest());
    sort_by_logit(listed_, reference::scratch<std::uint64_t, 1>(static_cast<std::int64_t>(listed_.size())));
    all_ = true;
  }

private:
  /// A logit that about 2 * wanted others reach, judged by a sample of the row.
  float threshold_for(std::size_t wanted) const {
    std::array<float, 1024> some;
    auto const step = logits_.size() / some.size();
    if (step == 0) return -infinity;
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = logits_[i * step];
    auto const place = std::min(some.size() - 1, 2 * wanted / step + 8);
    std::nth_element(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(place), some.end(), std::greater<>());
    return some[place];
  }

  void list(float threshold) {
    auto const all = reference::scratch<std::uint64_t>(static_cast<std::int64_t>(logits_.size()) + 1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < logits_.size(); ++i) {
      all[count] = ranked(logits_[i], i);
      count += logits_[i] >= threshold ? 1 : 0;
    }
    listed_ = all.first(count);
  }

  std::span<float const> logits_;
  std::span<std::uint64_t> listed_;
  bool all_ = false;
};

/// Weight of a logit that is not over the largest.
struct weight_rule {
  double largest;
  double temperature;
  double operator()(float logit) const { return std::exp((static_cast<double>(logit) - largest) / temperature); }
};

/// The sum of all weights, in an order that depends on nothing but the row's length.
double weight_of_all(std::span<float const> logits, weight_rule const& weight) {
  return reference::sum<double>(static_cast<std::int64_t>(logits.size()), [&](std::int64_t i) {
    auto const logit = logits[static_cast<std::size_t>(i)];
    return logit == -infinity ? 0.0 : weight(logit);
  });
}

/// Takes the tokens by rank until stop(weight so far) or none is left.
template <class Stop>
void take(kept& result, ranking& order, std::span<float const> logits, weight_rule const& weight, Stop stop) {
  double sum = 0;
  while (true) {
    for (auto i = result.tokens.size(); i < order.listed().size(); ++i) {
      auto const token = token_of(order.listed()[i]);
      sum += weight(logits[static_cast<std::size_t>(token)]);
      result.tokens.push_back(token);
      result.cumulative.push_back(sum);
      if (stop(sum)) return;
    }
    if (order.all_listed()) return;
    order.list_all();
  }
}

} // namespace

extremes extremes_of(std::span<float const> logits) {
  constexpr std::size_t step = 32;
  std::array<float, step> largest;
  std::array<std::uint32_t, step> bad{};
  largest.fill(-infinity);
  auto const* const values = logits.data();
  auto const whole = logits.size() / step * step;
  for (std::size_t i = 0; i < whole; i += step)
    for (std::size_t j = 0; j < step; ++j) {
      auto const value = values[i + j];
      largest[j] = value > largest[j] ? value : largest[j];
      bad[j] |= value < infinity ? 0u : 1u;
    }
  for (auto i = whole; i < logits.size(); ++i) {
    largest[0] = std::max(largest[0], values[i]);
    bad[0] |= values[i] < infinity ? 0u : 1u;
  }
  auto const most = *std::max_element(largest.begin(), largest.end());
  if (most == -infinity || std::any_of(bad.begin(), bad.end(), [](auto b) { return b != 0; })) return {};
  auto const first = std::find(logits.begin(), logits.end(), most) - logits.begin();
  return {.largest = most, .first_largest = static_cast<std::int32_t>(first)};
}

kept kept_set(std::span<float const> logits, extremes const& row, rule const& rule, double share) {
  if (rule.temperature == 0 || rule.top_p <= 0) return {{row.first_largest}, {1.0}, 1.0};
  weight_rule const weight{row.largest, rule.temperature};
  bool const some = rule.top_k > 0 && static_cast<std::size_t>(rule.top_k) < logits.size();
  auto const most = some ? static_cast<std::size_t>(rule.top_k) : logits.size();

  kept result;
  ranking order(logits, some ? most : 512);
  if (some) {
    take(result, order, logits, weight, [&](double) { return result.tokens.size() == most; });
    result.total = result.cumulative.back();
    if (rule.top_p >= 1) return result;
    auto const reached =
        std::lower_bound(result.cumulative.begin(), result.cumulative.end(), rule.top_p * result.total);
    auto const count = static_cast<std::size_t>(reached - result.cumulative.begin()) + 1;
    result.tokens.resize(std::min(count, result.tokens.size()));
    result.cumulative.resize(result.tokens.size());
    result.total = result.cumulative.back();
    return result;
  }
  auto const total = weight_of_all(logits, weight);
  if (rule.top_p < 1) {
    take(result, order, logits, weight, [&](double sum) { return sum >= rule.top_p * total; });
    result.total = result.cumulative.back();
  } else {
    take(result, order, logits, weight, [&](double sum) { return share < 1 && sum > share * total; });
    result.total = total;
  }
  return result;
}

std::int32_t pick(kept const& set, double u) {
  auto const& sums = set.cumulative;
  auto at = std::upper_bound(sums.begin(), sums.end(), u * set.total);
  if (at == sums.end()) at = std::lower_bound(sums.begin(), sums.end(), sums.back());
  return set.tokens[static_cast<std::size_t>(at - sums.begin())];
}

} // namespace mk::sampling
