#pragma once

/// `sample` on a device: all threads take one row at a time. A token and its logit are one number, the rank, greater
/// ones first (`ranked`). The last token of a kept set, and the token drawn, are found digit by digit of the rank: a
/// pass over the row sums the weights of each of 16 digits, and the sum from the top tells which one is the next. Sums
/// are in double, in an order that depends on the row's length only.

#include <megakernels/ops/device/floating.hpp>
#include <megakernels/ops/device/reduce.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/handler.hpp>
#include <megakernels/ops/sample/random.hpp>
#include <megakernels/ops/sample/sample.hpp>

#include <bit>
#include <cmath>

namespace mk {

namespace handlers {

/// A token in one number: the logit's bits, made to ascend with its value, over the index counted down.
TYLO_FN inline std::uint64_t ranked(float logit, std::uint32_t index) {
  auto bits = std::bit_cast<std::uint32_t>(logit);
  if (bits == 0x80000000u) bits = 0; // -0 is +0
  auto const ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return std::uint64_t{ascending} << 32 | (0xFFFFFFFFu - index);
}
TYLO_FN inline float logit_of(std::uint64_t rank) {
  auto const ascending = static_cast<std::uint32_t>(rank >> 32);
  return std::bit_cast<float>((ascending & 0x80000000u) != 0 ? ascending & 0x7FFFFFFFu : ~ascending);
}

/// Ranks from this on are of logits that are no NaN of negative sign and not -infinity.
inline constexpr std::uint64_t first_drawable = std::uint64_t{0x00800000} << 32;
/// Ranks from this on are of +infinity and NaN.
inline constexpr std::uint64_t first_refused = std::uint64_t{0xFF800000} << 32;

/// How a row is drawn from.
struct sample_rule {
  float temperature;
  float top_p;
  double u;
  std::int32_t top_k;
};

inline constexpr unsigned digit_bits = 4;
inline constexpr unsigned digits = 1u << digit_bits;

template <unsigned Warps> struct sample_scratch {
  sample_rule rule;
  std::uint64_t best[Warps];
  double part[Warps][digits];
  double sum[digits];
};

/// What is found one after the other: the first token of all, the last one that top-k keeps, the last one that top-p
/// keeps of these, and the one drawn.
enum class sample_stage { first, top_k, top_p, draw, end };

template <class Context> class sample_row {
public:
  TYLO_FN sample_row(Context& context, std::int64_t row)
      : context_(context), scratch_(*context.template scratch<sample_scratch<Context::warps>>()), row_(row),
        of_logits_(context.operand(sample::logits).type), logits_(context.operand(sample::logits).at(row)),
        step_(context.operand(sample::logits).stride(1) * of_logits_.bytes()),
        vocabulary_(static_cast<std::uint32_t>(context.operand(sample::logits).extent(1))) {}

  /// The same in all threads.
  TYLO_FN std::int32_t token() {
    if (context_.thread() == 0) scratch_.rule = read_rule();
    MK_ROLLED
    for (auto stage = sample_stage::first; stage != sample_stage::end; stage = next(stage)) {
      if (!begin(stage)) continue;
      find(stage);
      if (stage == sample_stage::first && !begin_drawing()) break;
    }
    return static_cast<std::int32_t>(0xFFFFFFFFu - static_cast<std::uint32_t>(last_));
  }

private:
  static constexpr unsigned at_once = 8; ///< loads of a thread
  static constexpr int rank_bits = 64;
  static constexpr int index_bits = 32;
  static constexpr std::uint64_t no_rank = 0; ///< that of `no_token`
  static_assert(sample::no_token == -1);

  TYLO_FN static sample_stage next(sample_stage stage) {
    return static_cast<sample_stage>(static_cast<int>(stage) + 1);
  }

  template <class T> TYLO_FN T of_row(int slot) const {
    auto const& table = context_.operand(slot);
    return reinterpret_cast<T const*>(table.data)[row_ * table.stride(0)];
  }

  TYLO_FN sample_rule read_rule() const {
    return {.temperature = of_row<float>(sample::temperature),
            .top_p = of_row<float>(sample::top_p),
            .u = sampling::uniform(of_row<std::int32_t>(sample::seed), of_row<std::int32_t>(sample::counter)),
            .top_k = of_row<std::int32_t>(sample::top_k)};
  }

  /// Whether there is something to find; what, is known then.
  TYLO_FN bool begin(sample_stage stage) {
    counting_ = stage == sample_stage::top_k;
    strict_ = stage == sample_stage::draw;
    bound_ = stage == sample_stage::top_p ? static_cast<double>(rule_.top_p) : rule_.u;
    if (stage == sample_stage::top_p) return rule_.top_p < 1;
    if (stage != sample_stage::top_k) return true;
    bound_ = rule_.top_k;
    return rule_.top_k > 0 && static_cast<std::uint32_t>(rule_.top_k) < vocabulary_;
  }

  /// After the first pass. False where nothing is left to be drawn: `last_` is the answer.
  TYLO_FN bool begin_drawing() {
    last_ = no_rank;
    for (unsigned w = 0; w < Context::warps; ++w) last_ = tylo::larger_of(last_, scratch_.best[w]);
    rule_ = scratch_.rule;
    context_.sync();
    if (!(rule_.temperature >= 0) || rule_.top_p != rule_.top_p || last_ < first_drawable || last_ >= first_refused)
      last_ = no_rank;
    if (last_ == no_rank || rule_.temperature == 0 || rule_.top_p <= 0) return false;
    largest_ = static_cast<double>(logit_of(last_));
    inverse_temperature_ = 1 / static_cast<double>(rule_.temperature);
    last_ = first_drawable;
    return true;
  }

  /// Makes `last_` the first token, of those with ranks from `last_` on, for which the weights up to it reach
  /// `bound_` times the weight of all; or, where every token counts 1, `bound_`. Where rounding leaves none, the last
  /// one with a weight. The first stage takes one pass and leaves the best rank of each warp in scratch.
  TYLO_FN void find(sample_stage stage) {
    // Indices are less than the vocabulary: counted down, their digits over its own are ones.
    auto const index_digits = (static_cast<unsigned>(std::bit_width(vocabulary_ - 1)) + digit_bits - 1) / digit_bits;
    std::uint64_t prefix = 0;
    std::uint64_t known = 0; // bits of the rank
    double before = 0;       // weight of the tokens over all that begin as `prefix`
    MK_ROLLED
    for (int shift = rank_bits - digit_bits; shift >= 0; shift -= digit_bits) {
      auto digit = digits - 1;
      if (shift >= index_bits || shift < static_cast<int>(digit_bits * index_digits)) {
        sum_digits(prefix, known, shift);
        if (stage == sample_stage::first) return;
        if (known == 0 && !counting_) bound_ *= sum_of_digits();
        digit = choose(before);
      }
      prefix |= std::uint64_t{digit} << shift;
      known |= std::uint64_t{digits - 1} << shift;
    }
    last_ = prefix;
  }

  TYLO_FN double sum_of_digits() const {
    double sum = 0;
    MK_ROLLED
    for (unsigned d = digits; d-- > 0;) sum += scratch_.sum[d];
    return sum;
  }

  /// The digit in which the sum from the top reaches the bound. Adds what is over it to `before`.
  TYLO_FN unsigned choose(double& before) const {
    unsigned chosen = 0;
    double sum = before;
    bool reached = false;
    MK_ROLLED
    for (unsigned d = digits; d-- > 0;) {
      double const weight = scratch_.sum[d];
      if (reached || !(weight > 0)) continue;
      chosen = d;
      before = sum;
      sum += weight;
      reached = strict_ ? sum > bound_ : sum >= bound_;
    }
    return chosen;
  }

  /// One pass. Into `scratch_.sum`: weights of the tokens with ranks from `last_` on that begin as `prefix`, by the
  /// next digit. In the first pass there are none.
  TYLO_FN void sum_digits(std::uint64_t prefix, std::uint64_t known, int shift) {
    double sum[digits] = {};
    std::uint64_t best = no_rank;
    MK_ROLLED
    for (auto index = context_.thread(); index < vocabulary_; index += at_once * Context::threads) {
      float logit[at_once];
      load(index, logit);
      unsigned wanted = 0;
      for (unsigned j = 0; j < at_once; ++j) {
        auto const rank = ranked(logit[j], index + j * Context::threads);
        bool const inside = rank >= last_ && ((rank ^ prefix) & known) == 0;
        wanted |= (inside ? 1u : 0u) << j;
        best = tylo::larger_of(best, logit[j] == logit[j] ? rank : first_refused);
      }
      // Few passes want many tokens: one by one.
      MK_ROLLED
      for (auto at = index; wanted != 0 && at < vocabulary_; at += Context::threads, wanted >>= 1) {
        auto const digit = static_cast<unsigned>(ranked(logit[0], at) >> shift) % digits;
        double const weight = (wanted & 1u) == 0 ? 0 : counting_ ? 1 : weight_of(logit[0]);
        for (unsigned d = 0; d < digits; ++d) sum[d] += d == digit ? weight : 0;
        for (unsigned j = 0; j + 1 < at_once; ++j) logit[j] = logit[j + 1];
      }
    }
    if (last_ == nothing_yet) {
      best = tylo::join_lanes(best, tylo::larger_value{});
      if (context_.lane() == 0) scratch_.best[context_.warp()] = best;
    }
    join(sum);
  }

  /// Logits of tokens `Context::threads` apart; copies of the last one past the end. A copy ranks after it.
  TYLO_FN void load(std::uint32_t index, float (&logit)[at_once]) const {
    std::byte const* from[at_once];
    for (unsigned j = 0; j < at_once; ++j) {
      auto const at = index + j * Context::threads;
      from[j] = logits_ + (at < vocabulary_ ? at : vocabulary_ - 1) * step_;
    }
    of_logits_.load(from, logit);
  }

  TYLO_FN double weight_of(float logit) const {
    return std::exp((static_cast<double>(logit) - largest_) * inverse_temperature_);
  }

  /// Sums of all threads, in `scratch_.sum`. Within a warp each step halves the digits that a lane is left with: digit
  /// d ends in lanes d and d + 16.
  TYLO_FN void join(double (&sum)[digits]) {
    for (unsigned half = digits / 2; half > 0; half /= 2) {
      bool const upper = (context_.lane() & half) != 0;
      for (unsigned d = 0; d < half; ++d) {
        double const given = upper ? sum[d] : sum[d + half];
        sum[d] = (upper ? sum[d + half] : sum[d]) + tylo::shuffle_xor(given, half);
      }
    }
    sum[0] += tylo::shuffle_xor(sum[0], digits);
    if (context_.lane() < digits) scratch_.part[context_.warp()][context_.lane()] = sum[0];
    context_.sync();
    if (context_.thread() < digits) {
      double all = 0;
      MK_ROLLED
      for (unsigned w = 0; w < Context::warps; ++w) all += scratch_.part[w][context_.thread()];
      scratch_.sum[context_.thread()] = all;
    }
    context_.sync();
  }

  static constexpr std::uint64_t nothing_yet = ~std::uint64_t{0};

  Context& context_;
  sample_scratch<Context::warps>& scratch_;
  std::int64_t row_;
  floating_elements of_logits_;
  std::byte const* logits_;
  std::int64_t step_;
  std::uint32_t vocabulary_; ///< at most 2^31
  sample_rule rule_{};
  double largest_ = 0;
  double inverse_temperature_ = 0;
  double bound_ = 0;
  bool strict_ = false;              ///< whether `bound_` must be passed
  bool counting_ = false;            ///< whether tokens weigh 1
  std::uint64_t last_ = nothing_yet; ///< rank of the last token that is kept
};

} // namespace handlers

template <> struct handler<sample> {
  template <class Context> static TYLO_FN void compute(Context& context, sample::arguments const&, task const& t) {
    MK_ROLLED
    for (auto row = t.row_begin; row < t.row_end; ++row) {
      auto const token = handlers::sample_row<Context>(context, row).token();
      auto const& tokens = context.operand(sample::token);
      if (context.thread() == 0) reinterpret_cast<std::int32_t*>(tokens.data)[row * tokens.stride(0)] = token;
    }
  }
};

} // namespace mk
