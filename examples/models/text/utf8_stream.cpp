#include "models/text/utf8_stream.hpp"

#include "models/text/utf8.hpp"

namespace mk {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

} // namespace

std::string utf8_stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    auto const step = first_of_utf8(rest);
    if (step.state == utf8_state::incomplete) break;
    text += step.state == utf8_state::complete ? rest.substr(0, step.bytes) : replacement;
    rest.remove_prefix(step.bytes);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return text;
}

std::string utf8_stream::flush() {
  std::string text(pending_.empty() ? std::string_view() : replacement);
  pending_.clear();
  return text;
}

} // namespace mk
