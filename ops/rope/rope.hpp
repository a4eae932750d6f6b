#pragma once

/// Rotary position embedding. Within each head, pair i of its first `rotary_dim` elements is turned by
/// angle[t, i] = position[t] * frequency[i]:
///     (a, b) -> (a cos - b sin, b cos + a sin)
/// The rest of the head is copied. frequency[i] = theta^(-2 i / rotary_dim), then scaled.
/// Sources: Su et al., RoFormer, 2021; for `llama3`, the Llama 3.1 model release (2024).

#include <megakernels/ops/operation.hpp>

namespace mk {

/// x [rows, heads * head_dim] of any floating type, position [rows] int32, optional divisors [rotary_dim / 2] fp32:
/// frequency[i] is divided by divisors[i]. y [rows, heads * head_dim] of `type`. Angles, sines and cosines are in
/// double. The grid is rows x heads.
struct rope {
  static constexpr std::string_view name = "rope";
  static constexpr std::uint32_t revision = 1;

  /// Which elements of a head make pair i.
  static constexpr std::int32_t halves = 0;     ///< i and i + rotary_dim / 2: model files in the Hugging Face layout
  static constexpr std::int32_t neighbours = 1; ///< 2 i and 2 i + 1

  static constexpr std::int32_t no_scaling = 0;
  /// Wavelengths over original_length / low_frequency_factor are divided by `factor` (their frequencies are), those
  /// under original_length / high_frequency_factor are kept, those between are blended. Not together with divisors.
  static constexpr std::int32_t llama3 = 1;

  struct arguments {
    std::int32_t head_dim = 0;   ///< 1 or more, divides the width of x
    std::int32_t rotary_dim = 0; ///< even, 0 to head_dim
    std::int32_t pairing = halves;
    std::int32_t scaling = no_scaling;
    float theta = 10000.0f; ///< finite, over 0
    float factor = 1.0f;    ///< this and the next three matter for `llama3` only
    float low_frequency_factor = 1.0f;
    float high_frequency_factor = 4.0f;
    std::int32_t original_length = 8192;
    data_type type = data_type::fp32;
  };

  enum : int { x, position, divisors, y };
  static constexpr std::array slots{input("x"), input("position"), optional("divisors"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const&);
  static work_shape work(arguments const&, std::span<tensor_desc const>);
  static void regions(arguments const&, std::span<tensor_desc const>, task const&, region_list&);
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const&);
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&);
};

static_assert(sizeof(rope::arguments) == 40); // no padding

/// frequency[i] for each pair, after `scaling` and before divisors. The arguments must be valid.
std::vector<double> rope_frequencies(rope::arguments const&);

} // namespace mk
