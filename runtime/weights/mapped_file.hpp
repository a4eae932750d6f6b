#pragma once

/// A whole file as read-only memory.

#include <cstddef>
#include <filesystem>
#include <span>

namespace mk {

/// Owns the mapping of a regular file. Spans of `bytes()` stay valid while the owner, or one that it was moved to,
/// lives. The file must not shrink meanwhile: reading a page that has gone ends the process (SIGBUS).
class mapped_file {
public:
  mapped_file() = default;

  /// Maps `path` for reading from start to end. An empty file gives an empty span.
  /// Throws `file_error` where it cannot be opened or mapped, or is not a regular file.
  explicit mapped_file(std::filesystem::path const& path);

  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;
  ~mapped_file();

  [[nodiscard]] std::span<std::byte const> bytes() const noexcept { return bytes_; }

private:
  std::span<std::byte const> bytes_;
};

} // namespace mk
