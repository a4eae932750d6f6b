#include <megakernels/runtime/weights/ggml_type.hpp>

#include <array>

namespace mk {

std::optional<ggml_block> block_of(ggml_type type) noexcept {
  switch (type) {
  case ggml_type::f32:
    return ggml_block{1, 4};
  case ggml_type::f16:
    return ggml_block{1, 2};
  case ggml_type::bf16:
    return ggml_block{1, 2};
  case ggml_type::q4_0:
    return ggml_block{32, 18};
  case ggml_type::q4_1:
    return ggml_block{32, 20};
  case ggml_type::q8_0:
    return ggml_block{32, 34};
  case ggml_type::q6_k:
    return ggml_block{256, 210};
  }
  return std::nullopt;
}

std::string name_of(ggml_type type) {
  // Numbers without a name were withdrawn by ggml.
  static constexpr std::array names = {
      "F32",   "F16",    "Q4_0",  "Q4_1", "",     "",        "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",   "Q2_K",
      "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S",
      "IQ2_S", "IQ4_XS", "I8",    "I16",  "I32",  "I64",     "F64",    "IQ1_M",   "BF16",  "",       "",
      "",      "TQ1_0",  "TQ2_0", "",     "",     "",        "MXFP4",  "NVFP4",   "Q1_0",
  };
  auto const number = static_cast<std::uint32_t>(type);
  if (number < names.size() && *names[number] != '\0') return names[number];
  return "type " + std::to_string(number);
}

} // namespace mk
