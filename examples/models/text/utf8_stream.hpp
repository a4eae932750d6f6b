#pragma once

/// Text that arrives in pieces cut anywhere, as tokens are, shown without half characters.

#include <string>
#include <string_view>

namespace mk {

/// Takes bytes and gives back whole characters as soon as they are complete. Bytes that cannot be part of one come out
/// as U+FFFD, one for each longest part of a character (Unicode 15, section 3.9), so that the output is valid UTF-8.
class utf8_stream {
public:
  /// Adds `bytes`; returns the text that they complete.
  std::string push(std::string_view bytes);

  /// Ends the text: returns U+FFFD where a character was left incomplete, else nothing. The next push begins a new
  /// text.
  std::string flush();

private:
  std::string pending_; // the beginning of a character, at most 3 bytes
};

} // namespace mk
