#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/weights/gguf_parse.hpp>

#include <bit>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace mk {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied from the file as they are");

constexpr std::uint32_t magic = 0x46554747; // "GGUF"
constexpr std::uint32_t array_type = 9;
constexpr std::uint32_t type_count = 13;
constexpr std::uint32_t max_rank = 4;
constexpr std::uint64_t max_elements = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t least_entry_bytes = 8 + 4 + 1;
constexpr std::uint64_t least_tensor_bytes = 8 + 4 + 4 + 8;

/// Reads forward; never past the end.
class cursor {
public:
  cursor(std::span<std::byte const> bytes, std::string const& file) : bytes_(bytes), file_(file) {}

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - position_; }

  [[noreturn]] void fail(std::uint64_t offset, std::string const& cause) const {
    throw file_error(file_ + ": byte " + std::to_string(offset) + ": " + cause);
  }

  std::span<std::byte const> take(std::uint64_t count, char const* what) {
    if (count > remaining())
      fail(position_, std::string(what) + " needs " + std::to_string(count) + " bytes, the file has " +
                          std::to_string(remaining()) + " more");
    auto const taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  template <typename Number> Number number(char const* what) {
    return packed_view<Number>(take(sizeof(Number), what))[0];
  }

  std::string_view text(char const* what) {
    auto const length = number<std::uint64_t>(what);
    auto const taken = take(length, what);
    return {reinterpret_cast<char const*>(taken.data()), taken.size()};
  }

  /// A number of items of which each takes at least `least_bytes`.
  std::uint64_t count(char const* what, std::uint64_t least_bytes) {
    auto const start = position_;
    auto const claimed = number<std::uint64_t>(what);
    // Counts may precede other fields, but whatever they count lies behind them.
    if (claimed > remaining() / least_bytes)
      fail(start, std::string(what) + " is " + std::to_string(claimed) + ", more than the file's " +
                      std::to_string(remaining()) + " more bytes can hold");
    return claimed;
  }

private:
  std::span<std::byte const> bytes_;
  std::string const& file_;
  std::uint64_t position_ = 0;
};

/// Calls `visit` with a zero of the scalar type that `type` numbers; text is a string_view.
template <typename Visitor> gguf_value with_scalar(std::uint32_t type, Visitor&& visit) {
  switch (type) {
  case 0:
    return visit(std::uint8_t{});
  case 1:
    return visit(std::int8_t{});
  case 2:
    return visit(std::uint16_t{});
  case 3:
    return visit(std::int16_t{});
  case 4:
    return visit(std::uint32_t{});
  case 5:
    return visit(std::int32_t{});
  case 6:
    return visit(float{});
  case 7:
    return visit(bool{});
  case 8:
    return visit(std::string_view{});
  case 10:
    return visit(std::uint64_t{});
  case 11:
    return visit(std::int64_t{});
  default:
    return visit(double{});
  }
}

/// The bytes of `count` numbers. Other bytes than 0 and 1 must not become a bool.
template <typename Number> std::span<std::byte const> take_numbers(cursor& in, std::uint64_t count, char const* what) {
  auto const start = in.position();
  if (count > in.remaining() / sizeof(Number))
    in.fail(start, std::string(what) + " of " + std::to_string(count) + " elements leaves the file");
  auto const bytes = in.take(count * sizeof(Number), what);
  if constexpr (std::is_same_v<Number, bool>)
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] > std::byte{1})
        in.fail(start + i, "a bool is " + std::to_string(std::to_integer<unsigned>(bytes[i])) + ", not 0 or 1");
  return bytes;
}

gguf_value parse_scalar(cursor& in, std::uint32_t type) {
  return with_scalar(type, [&]<typename Scalar>(Scalar) -> gguf_value {
    if constexpr (std::is_same_v<Scalar, std::string_view>)
      return in.text("a string");
    else
      return packed_view<Scalar>(take_numbers<Scalar>(in, 1, "a value"))[0];
  });
}

gguf_value parse_array(cursor& in) {
  auto const start = in.position();
  auto const type = in.number<std::uint32_t>("an array's type");
  if (type >= type_count) in.fail(start, "unknown element type " + std::to_string(type) + " of an array");
  if (type == array_type) in.fail(start, "an array of arrays is not supported");
  auto const count = in.count("an array's length", 1);
  return with_scalar(type, [&]<typename Scalar>(Scalar) -> gguf_value {
    if constexpr (std::is_same_v<Scalar, std::string_view>) {
      std::vector<std::string_view> texts;
      for (std::uint64_t i = 0; i < count; ++i) texts.push_back(in.text("a string of an array"));
      return texts;
    } else {
      return packed_view<Scalar>(take_numbers<Scalar>(in, count, "an array"));
    }
  });
}

gguf_entry parse_entry(cursor& in) {
  auto const key = in.text("a metadata key");
  auto const start = in.position();
  auto const type = in.number<std::uint32_t>("a metadata type");
  if (type >= type_count) in.fail(start, "unknown type " + std::to_string(type) + " of metadata " + printable(key));
  auto const offset = in.position();
  return {key, type == array_type ? parse_array(in) : parse_scalar(in, type), offset};
}

/// Everything of a tensor but its place, `offset` being relative to the start of tensor data.
gguf_tensor parse_tensor(cursor& in) {
  gguf_tensor tensor{};
  tensor.name = in.text("a tensor's name");
  auto const start = in.position();
  auto const rank = in.number<std::uint32_t>("a tensor's rank");
  if (rank > max_rank)
    in.fail(start,
            "tensor " + printable(tensor.name) + " has " + std::to_string(rank) + " dimensions, at most 4 are legal");
  tensor.extents.resize(rank);
  std::uint64_t product = 1;
  for (std::size_t i = rank; i-- > 0;) {
    auto const extent = tensor.extents[i] = in.number<std::uint64_t>("a tensor's extent");
    // Products of some of the extents must fit as well, so a zero does not excuse the others.
    if (extent > max_elements / product)
      in.fail(start, "tensor " + printable(tensor.name) + " has more than 2^63-1 elements");
    if (extent != 0) product *= extent;
  }
  tensor.type = static_cast<ggml_type>(in.number<std::uint32_t>("a tensor's type"));
  tensor.offset = in.number<std::uint64_t>("a tensor's offset");
  return tensor;
}

/// Gives a tensor its bytes. `info_offset` is where the file describes it.
void place(gguf_tensor& tensor, cursor const& in, std::uint64_t info_offset, std::uint64_t alignment,
           std::uint64_t data_start, std::span<std::byte const> bytes) {
  auto const fail = [&](std::string const& cause) {
    in.fail(info_offset, "tensor " + printable(tensor.name) + " " + cause);
  };
  auto const data_bytes = bytes.size() - data_start;
  if (tensor.offset % alignment != 0)
    fail("has offset " + std::to_string(tensor.offset) + ", not a multiple of " + std::to_string(alignment));
  if (tensor.offset > data_bytes)
    fail("starts at " + std::to_string(tensor.offset) + " of " + std::to_string(data_bytes) + " bytes of tensor data");
  auto const available = data_bytes - tensor.offset;
  tensor.offset += data_start;
  auto const block = block_of(tensor.type);
  if (!block) return;
  if (tensor.row_elements() % block->elements != 0)
    fail("has rows of " + std::to_string(tensor.row_elements()) + " elements, " + name_of(tensor.type) +
         " needs a multiple of " + std::to_string(block->elements));
  auto const blocks = tensor.element_count() / block->elements;
  if (blocks > available / block->bytes)
    fail("has " + std::to_string(tensor.element_count()) + " elements of type " + name_of(tensor.type) +
         ", the file has " + std::to_string(available) + " bytes from its start on");
  tensor.bytes = bytes.subspan(tensor.offset, blocks * block->bytes);
}

std::uint32_t parse_version(cursor& in) {
  if (in.number<std::uint32_t>("the magic") != magic) in.fail(0, "not a GGUF file");
  auto const version = in.number<std::uint32_t>("the version");
  if (version == 0x02000000 || version == 0x03000000) in.fail(4, "a big-endian GGUF file is not supported");
  if (version != 2 && version != 3)
    in.fail(4, "GGUF version " + std::to_string(version) + " is not supported, versions 2 and 3 are");
  return version;
}

void parse_entries(cursor& in, gguf_contents& contents, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const start = in.position();
    contents.entries.push_back(parse_entry(in));
    auto const& entry = contents.entries.back();
    if (!contents.entry_of_key.emplace(entry.key, i).second)
      in.fail(start, "metadata " + printable(entry.key) + " is repeated");
    if (entry.key != "general.alignment") continue;
    auto const* const alignment = std::get_if<std::uint32_t>(&entry.value);
    if (alignment == nullptr || !std::has_single_bit(*alignment))
      in.fail(entry.offset, "general.alignment is not a uint32 that is a power of two");
    contents.alignment = *alignment;
  }
}

} // namespace

std::uint64_t gguf_tensor::row_count() const noexcept {
  if (row_elements() == 0) return 0;
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) rows *= extents[i];
  return rows;
}

gguf_contents parse_gguf(std::span<std::byte const> bytes, std::string const& file) {
  cursor in(bytes, file);
  gguf_contents contents;
  contents.version = parse_version(in);
  auto const tensor_count = in.count("the number of tensors", least_tensor_bytes);
  auto const entry_count = in.count("the number of metadata entries", least_entry_bytes);
  parse_entries(in, contents, entry_count);

  std::vector<std::uint64_t> info_offsets;
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    info_offsets.push_back(in.position());
    contents.tensors.push_back(parse_tensor(in));
    auto const name = contents.tensors.back().name;
    if (!contents.tensor_of_name.emplace(name, i).second)
      in.fail(info_offsets.back(), "tensor " + printable(name) + " is repeated");
  }
  // A file whose tensors have no bytes need not be padded up to its tensor data.
  auto const padding = (contents.alignment - in.position() % contents.alignment) % contents.alignment;
  auto const data_start = padding < in.remaining() ? in.position() + padding : bytes.size();
  for (std::size_t i = 0; i < contents.tensors.size(); ++i)
    place(contents.tensors[i], in, info_offsets[i], contents.alignment, data_start, bytes);
  return contents;
}

std::string printable(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  constexpr std::size_t longest = 64;
  std::string result = "\"";
  for (char const c : text.substr(0, longest)) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      result += c;
    else
      (result += "\\x") += {digits[byte >> 4], digits[byte & 15]};
  }
  return result + (text.size() > longest ? "...\"" : "\"");
}

} // namespace mk
