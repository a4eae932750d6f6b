#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/weights/gguf.hpp>

#include <type_traits>
#include <utility>

namespace mk {
namespace {

template <typename T> constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <typename T> constexpr bool is_integer_array = false;
template <typename Number> constexpr bool is_integer_array<packed_view<Number>> = is_integer<Number>;

[[noreturn]] void refuse_type(gguf_file const& file, gguf_entry const& entry, char const* wanted) {
  file.refuse(entry.key, std::string("is of type ") + std::string(type_name(entry.value)) + ", not " + wanted);
}

template <typename Value>
std::optional<Value> value_of(gguf_file const& file, std::string_view key, char const* wanted) {
  auto const* const entry = file.find(key);
  if (entry == nullptr) return std::nullopt;
  auto const* const value = std::get_if<Value>(&entry->value);
  if (value == nullptr) refuse_type(file, *entry, wanted);
  return *value;
}

template <typename Value> Value required(gguf_file const& file, std::string_view key, std::optional<Value>&& value) {
  if (!value) file.refuse(key, "is missing");
  return *std::move(value);
}

std::int64_t signed_of(gguf_file const& file, gguf_entry const& entry, auto number) {
  if (!std::in_range<std::int64_t>(number))
    file.refuse(entry.key, "holds " + std::to_string(number) + ", above 2^63-1");
  return static_cast<std::int64_t>(number);
}

} // namespace

gguf_file::gguf_file(std::filesystem::path const& path)
    : name_(path.string()), file_(path), contents_(parse_gguf(file_.bytes(), name_)) {}

gguf_entry const* gguf_file::find(std::string_view key) const noexcept {
  auto const found = contents_.entry_of_key.find(key);
  return found == contents_.entry_of_key.end() ? nullptr : &contents_.entries[found->second];
}

std::optional<std::uint64_t> gguf_file::optional_unsigned(std::string_view key) const {
  auto const* const entry = find(key);
  if (entry == nullptr) return std::nullopt;
  return std::visit(
      [&]<typename Value>(Value const& value) -> std::uint64_t {
        if constexpr (is_integer<Value>) {
          if (!std::in_range<std::uint64_t>(value)) refuse(key, "is negative: " + std::to_string(value));
          return static_cast<std::uint64_t>(value);
        } else {
          refuse_type(*this, *entry, "an integer");
        }
      },
      entry->value);
}

std::optional<double> gguf_file::optional_float(std::string_view key) const {
  auto const* const entry = find(key);
  if (entry == nullptr) return std::nullopt;
  return std::visit(
      [&]<typename Value>(Value const& value) -> double {
        if constexpr (is_integer<Value> || std::is_floating_point_v<Value>)
          return static_cast<double>(value);
        else
          refuse_type(*this, *entry, "a number");
      },
      entry->value);
}

std::optional<bool> gguf_file::optional_bool(std::string_view key) const { return value_of<bool>(*this, key, "bool"); }

std::optional<std::string_view> gguf_file::optional_string(std::string_view key) const {
  return value_of<std::string_view>(*this, key, "string");
}

std::optional<std::span<std::string_view const>> gguf_file::optional_strings(std::string_view key) const {
  auto const* const entry = find(key);
  if (entry == nullptr) return std::nullopt;
  auto const* const texts = std::get_if<std::vector<std::string_view>>(&entry->value);
  if (texts == nullptr) refuse_type(*this, *entry, "array of string");
  return std::span<std::string_view const>(*texts);
}

std::optional<std::vector<std::int64_t>> gguf_file::optional_integers(std::string_view key) const {
  auto const* const entry = find(key);
  if (entry == nullptr) return std::nullopt;
  std::vector<std::int64_t> integers;
  std::visit(
      [&]<typename Value>(Value const& value) {
        if constexpr (is_integer<Value>) {
          integers.push_back(signed_of(*this, *entry, value));
        } else if constexpr (is_integer_array<Value>) {
          integers.reserve(value.size());
          for (std::size_t i = 0; i < value.size(); ++i) integers.push_back(signed_of(*this, *entry, value[i]));
        } else {
          refuse_type(*this, *entry, "array of integers");
        }
      },
      entry->value);
  return integers;
}

std::uint64_t gguf_file::required_unsigned(std::string_view key) const {
  return required(*this, key, optional_unsigned(key));
}

double gguf_file::required_float(std::string_view key) const { return required(*this, key, optional_float(key)); }

bool gguf_file::required_bool(std::string_view key) const { return required(*this, key, optional_bool(key)); }

std::string_view gguf_file::required_string(std::string_view key) const {
  return required(*this, key, optional_string(key));
}

std::span<std::string_view const> gguf_file::required_strings(std::string_view key) const {
  return required(*this, key, optional_strings(key));
}

std::vector<std::int64_t> gguf_file::required_integers(std::string_view key) const {
  return required(*this, key, optional_integers(key));
}

gguf_tensor const* gguf_file::find_tensor(std::string_view name) const noexcept {
  auto const found = contents_.tensor_of_name.find(name);
  return found == contents_.tensor_of_name.end() ? nullptr : &contents_.tensors[found->second];
}

gguf_tensor const& gguf_file::required_tensor(std::string_view name) const {
  auto const* const tensor = find_tensor(name);
  if (tensor == nullptr) throw file_error(name_ + ": tensor " + printable(name) + " is missing");
  if (!block_of(tensor->type))
    throw file_error(name_ + ": byte " + std::to_string(tensor->offset) + ": tensor " + printable(name) +
                     " is of type " + name_of(tensor->type) + ", which is not supported");
  return *tensor;
}

void gguf_file::refuse(std::string_view key, std::string const& cause) const {
  auto const* const entry = find(key);
  auto const place = entry == nullptr ? std::string() : "byte " + std::to_string(entry->offset) + ": ";
  throw file_error(name_ + ": " + place + "metadata " + printable(key) + " " + cause);
}

} // namespace mk
