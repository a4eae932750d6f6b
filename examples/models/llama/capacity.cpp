#include "models/llama/capacity.hpp"

namespace mk::llama {

capacity single_sequence(std::int64_t tokens, std::int64_t context) {
  capacity c{.tokens = tokens, .positions = context};
  c.blocks = c.blocks_per_sequence = (context + c.block_tokens - 1) / c.block_tokens;
  return c;
}

} // namespace mk::llama
