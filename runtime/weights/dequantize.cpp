#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/weights/dequantize.hpp>

#include <bit>
#include <cstring>
#include <string>

namespace mk {
namespace {

using bytes_pointer = std::byte const*;

std::uint16_t load_u16(bytes_pointer from) {
  std::uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

unsigned load_u8(bytes_pointer from) { return std::to_integer<unsigned>(*from); }

float half_to_float(std::uint16_t half) {
  auto const sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  std::uint32_t const exponent = (half >> 10) & 31u;
  std::uint32_t const mantissa = half & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | mantissa << 13);
  auto const magnitude = static_cast<float>(mantissa) * 0x1p-24f; // zero and subnormals, exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

float load_half(bytes_pointer from) { return half_to_float(load_u16(from)); }

float of_int(int value) { return static_cast<float>(value); }

void f32_block(bytes_pointer in, float* out) { std::memcpy(out, in, sizeof(float)); }

void f16_block(bytes_pointer in, float* out) { *out = load_half(in); }

void bf16_block(bytes_pointer in, float* out) {
  *out = std::bit_cast<float>(static_cast<std::uint32_t>(load_u16(in)) << 16);
}

void q4_0_block(bytes_pointer in, float* out) {
  auto const d = load_half(in);
  for (int i = 0; i < 16; ++i) {
    auto const pair = static_cast<int>(load_u8(in + 2 + i));
    out[i] = d * of_int((pair & 15) - 8);
    out[i + 16] = d * of_int((pair >> 4) - 8);
  }
}

void q4_1_block(bytes_pointer in, float* out) {
  auto const d = load_half(in);
  auto const m = load_half(in + 2);
  for (int i = 0; i < 16; ++i) {
    auto const pair = static_cast<int>(load_u8(in + 4 + i));
    out[i] = d * of_int(pair & 15) + m;
    out[i + 16] = d * of_int(pair >> 4) + m;
  }
}

void q8_0_block(bytes_pointer in, float* out) {
  auto const d = load_half(in);
  for (int i = 0; i < 32; ++i) out[i] = d * of_int(static_cast<std::int8_t>(load_u8(in + 2 + i)));
}

/// 256 elements: 128 bytes of low nibbles, 64 of upper bit pairs, 16 signed scales (one for 16 elements), d.
void q6_k_block(bytes_pointer in, float* out) {
  auto const scales = in + 192;
  auto const d = load_half(in + 208);
  for (int half = 0; half < 2; ++half) {
    for (int group = 0; group < 4; ++group) {
      for (int i = 0; i < 32; ++i) {
        auto const low = load_u8(in + half * 64 + (group & 1) * 32 + i) >> (group / 2 * 4) & 15u;
        auto const high = load_u8(in + 128 + half * 32 + i) >> (group * 2) & 3u;
        auto const scale = static_cast<std::int8_t>(load_u8(scales + half * 8 + group * 2 + i / 16));
        out[half * 128 + group * 32 + i] = d * of_int(scale) * of_int(static_cast<int>(low | high << 4) - 32);
      }
    }
  }
}

template <auto BlockFunction> void each_block(ggml_block block, std::span<std::byte const> bytes, float* out) {
  for (std::size_t at = 0; at < bytes.size(); at += block.bytes, out += block.elements)
    BlockFunction(bytes.data() + at, out);
}

ggml_block required_block(ggml_type type) {
  auto const block = block_of(type);
  if (!block) throw error("dequantize: elements of type " + name_of(type) + " are not supported");
  return *block;
}

} // namespace

void dequantize(ggml_type type, std::span<std::byte const> bytes, std::span<float> out) {
  auto const block = required_block(type);
  if (out.size() % block.elements != 0 || out.size() / block.elements * block.bytes != bytes.size())
    throw error("dequantize: " + std::to_string(bytes.size()) + " bytes of type " + name_of(type) + " are not " +
                std::to_string(out.size()) + " elements in whole blocks");
  switch (type) {
  case ggml_type::f32:
    return each_block<f32_block>(block, bytes, out.data());
  case ggml_type::f16:
    return each_block<f16_block>(block, bytes, out.data());
  case ggml_type::bf16:
    return each_block<bf16_block>(block, bytes, out.data());
  case ggml_type::q4_0:
    return each_block<q4_0_block>(block, bytes, out.data());
  case ggml_type::q4_1:
    return each_block<q4_1_block>(block, bytes, out.data());
  case ggml_type::q8_0:
    return each_block<q8_0_block>(block, bytes, out.data());
  case ggml_type::q6_k:
    return each_block<q6_k_block>(block, bytes, out.data());
  }
}

void dequantize_rows(gguf_tensor const& tensor, std::uint64_t first, std::uint64_t count, std::span<float> out) {
  auto const block = required_block(tensor.type);
  auto const rows = tensor.row_count();
  if (first > rows || count > rows - first)
    throw error("dequantize_rows: rows " + std::to_string(first) + " and " + std::to_string(count) +
                " more of tensor " + printable(tensor.name) + ", which has " + std::to_string(rows));
  if (out.size() != count * tensor.row_elements())
    throw error("dequantize_rows: room for " + std::to_string(out.size()) + " elements, tensor " +
                printable(tensor.name) + " has " + std::to_string(tensor.row_elements()) + " in each of " +
                std::to_string(count) + " rows");
  auto const row_bytes = tensor.row_elements() / block.elements * block.bytes;
  dequantize(tensor.type, tensor.bytes.subspan(first * row_bytes, count * row_bytes), out);
}

} // namespace mk
