#pragma once

/// What a Llama-family model file says about its network.

#include <megakernels/runtime/weights/gguf.hpp>

#include <cstdint>
#include <string>

namespace mk::llama {

/// Sizes and constants of a decoder-only transformer of the Llama family: RMS norms, rotary embeddings on neighbouring
/// pairs (as GGUF files store their rows), grouped-query attention, gated SiLU feed-forward layers.
struct config {
  std::string name; ///< of the model, or its file where it has none
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  std::int64_t context = 0; ///< most positions that the model was trained for
  std::int64_t rotary_dim = 0;
  float epsilon = 0;
  float theta = 10000;
  bool tied = false;     ///< the output projection is the embedding table
  bool divisors = false; ///< frequencies are divided by the tensor rope_freqs.weight (llama3 scaling)
  bool qkv_bias = false;
};

/// Reads and checks the metadata and the shapes of all tensors. Throws file_error naming the key or tensor, its value
/// and what was expected: another architecture, key, scaling or tensor than this family has is refused, never ignored.
/// Without `attention.head_count_kv` there are as many as heads; without `attention.key_length` heads share the width;
/// without `rope.freq_base` it is 10000; without the tensor output.weight the embedding table is the output projection.
config read_config(gguf_file const&);

/// Name of a tensor of one layer: "blk.<layer>.<part>".
std::string layer_tensor(std::int64_t layer, std::string_view part);

} // namespace mk::llama
