#pragma once

/// GGUF files put together by hand, legal ones and others.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mk::test {

/// The value type numbers of the format.
enum class gguf_type : std::uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  string,
  array,
  uint64,
  int64,
  float64,
};

/// Appends fields in the order of the format; what it counts is up to the caller.
class gguf_writer {
public:
  template <typename Number> gguf_writer& number(Number value) {
    auto const at = bytes_.size();
    bytes_.resize(at + sizeof(value));
    std::memcpy(bytes_.data() + at, &value, sizeof(value));
    return *this;
  }

  gguf_writer& text(std::string_view value) {
    number<std::uint64_t>(value.size());
    for (char const c : value) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }

  gguf_writer& header(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
    return number(std::uint32_t{0x46554747}).number(version).number(tensors).number(entries);
  }

  template <typename Number> gguf_writer& entry(std::string_view key, gguf_type type, Number value) {
    return text(key).number(type).number(value);
  }

  gguf_writer& entry(std::string_view key, std::string_view value) {
    return text(key).number(gguf_type::string).text(value);
  }

  template <typename Number>
  gguf_writer& array(std::string_view key, gguf_type type, std::vector<Number> const& values) {
    text(key).number(gguf_type::array).number(type).number(std::uint64_t{values.size()});
    for (auto const value : values) number(value);
    return *this;
  }

  gguf_writer& strings(std::string_view key, std::vector<std::string> const& values) {
    text(key).number(gguf_type::array).number(gguf_type::string).number(std::uint64_t{values.size()});
    for (auto const& value : values) text(value);
    return *this;
  }

  /// `extents` innermost first, as the format has them.
  gguf_writer& tensor(std::string_view name, std::vector<std::uint64_t> const& extents, std::uint32_t type,
                      std::uint64_t offset) {
    text(name).number(static_cast<std::uint32_t>(extents.size()));
    for (auto const extent : extents) number(extent);
    return number(type).number(offset);
  }

  gguf_writer& pad(std::size_t alignment = 32) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(std::byte{0});
    return *this;
  }

  gguf_writer& data(std::size_t count, std::byte value = std::byte{1}) {
    bytes_.insert(bytes_.end(), count, value);
    return *this;
  }

  [[nodiscard]] std::vector<std::byte> const& bytes() const { return bytes_; }

private:
  std::vector<std::byte> bytes_;
};

/// A file in the folder for temporary files that goes with its owner.
class temporary_file {
public:
  temporary_file(std::string const& name, std::span<std::byte const> bytes)
      : path_(testing::TempDir() + std::to_string(::getpid()) + "-" + name) {
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace mk::test
