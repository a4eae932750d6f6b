#pragma once

/// A GGUF file: metadata by key, tensors by name.

#include <megakernels/runtime/weights/gguf_parse.hpp>
#include <megakernels/runtime/weights/mapped_file.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace mk {

/// Owns a mapped file and its tables. All views that it hands out (text, arrays, bytes of tensors) stay valid while it,
/// or one that it was moved to, lives.
///
/// The typed accessors take any integer type where an integer is asked for. Each throws `file_error` naming file, byte
/// offset and key where the value has another type or does not fit; the `required_` forms also where it is missing.
class gguf_file {
public:
  /// Maps and checks `path`; throws as `mapped_file` and `parse_gguf` do.
  explicit gguf_file(std::filesystem::path const& path);

  [[nodiscard]] std::string const& name() const noexcept { return name_; } ///< the path, as in messages
  [[nodiscard]] std::uint32_t version() const noexcept { return contents_.version; }
  [[nodiscard]] std::span<gguf_entry const> entries() const noexcept { return contents_.entries; }
  [[nodiscard]] std::span<gguf_tensor const> tensors() const noexcept { return contents_.tensors; }

  /// The entry of `key`, null where there is none.
  [[nodiscard]] gguf_entry const* find(std::string_view key) const noexcept;

  [[nodiscard]] std::optional<std::uint64_t> optional_unsigned(std::string_view key) const;
  [[nodiscard]] std::optional<double> optional_float(std::string_view key) const; ///< also from an integer
  [[nodiscard]] std::optional<bool> optional_bool(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> optional_string(std::string_view key) const;
  [[nodiscard]] std::optional<std::span<std::string_view const>> optional_strings(std::string_view key) const;
  /// An array of integers of any type, or one integer as an array of one.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> optional_integers(std::string_view key) const;

  [[nodiscard]] std::uint64_t required_unsigned(std::string_view key) const;
  [[nodiscard]] double required_float(std::string_view key) const;
  [[nodiscard]] bool required_bool(std::string_view key) const;
  [[nodiscard]] std::string_view required_string(std::string_view key) const;
  [[nodiscard]] std::span<std::string_view const> required_strings(std::string_view key) const;
  [[nodiscard]] std::vector<std::int64_t> required_integers(std::string_view key) const;

  /// The tensor of that name, whatever its type; null where there is none.
  [[nodiscard]] gguf_tensor const* find_tensor(std::string_view name) const noexcept;
  /// The tensor of that name, to be read: throws `file_error` where it is missing or its type cannot be dequantised.
  [[nodiscard]] gguf_tensor const& required_tensor(std::string_view name) const;

  /// Throws `file_error`: the file's name, the place of the entry of `key` where there is one, `key` and `cause`.
  /// For callers that find a value of the right type wanting.
  [[noreturn]] void refuse(std::string_view key, std::string const& cause) const;

private:
  std::string name_;
  mapped_file file_;
  gguf_contents contents_;
};

} // namespace mk
