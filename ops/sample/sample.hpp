#pragma once

/// Draws a token from each row of logits, by temperature, top-k and top-p, in that order. For row t:
///
/// 1. Tokens are ranked by descending logit; equal logits (+0 and -0 are equal) by ascending index. Tokens with a
///    logit of -infinity are never drawn.
/// 2. The weight of token i is exp((logit[i] - largest logit) / temperature). Temperature 0 keeps the first token
///    only (arg-max); +infinity gives all tokens the same weight.
/// 3. top_k from 1 to vocabulary - 1 keeps the first top_k tokens, exactly; any other value keeps all.
/// 4. top_p keeps the fewest first tokens whose share of the kept weight is at least top_p. 1 or more keeps all; 0 or
///    less keeps the first token only.
/// 5. The token is the first one, in this order, with (weight of the tokens up to it) > u * (weight kept), where u in
///    [0, 1) has 53 random bits that depend on (seed[t], counter[t]) only: see `random.hpp`.
///
/// The marker -1 is the token of a row that cannot be drawn from: a logit is NaN or +infinity, all are -infinity, there
/// are none; or, where `check` could not see it, the temperature is negative or NaN, or top_p is NaN. Other rows are
/// not affected. Weights and their sums are double whatever type the reference accumulates in, so a token is the same
/// everywhere.

#include <megakernels/ops/operation.hpp>

namespace mk {

/// logits [rows, vocabulary], any floating type; temperature and top_p [rows] fp32; top_k, seed and counter [rows]
/// int32; token [rows] int32. `counter` is the number of the token in its text: it makes the draws of one seed
/// independent. `check` refuses a temperature that is negative or NaN and a top_p that is NaN.
struct sample {
  static constexpr std::string_view name = "sample";
  static constexpr std::uint32_t revision = 1;

  static constexpr std::int32_t no_token = -1;

  struct arguments {
    std::int32_t reserved = 0; ///< must be 0
  };

  enum : int { logits, temperature, top_k, top_p, seed, counter, token };
  static constexpr std::array slots{input("logits"), input("temperature"), input("top_k"), input("top_p"),
                                    input("seed"),   input("counter"),     output("token")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
  static void check(arguments const&, std::span<tensor_view const>);
};

} // namespace mk
