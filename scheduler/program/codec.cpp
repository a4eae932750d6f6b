#include <megakernels/ops/error.hpp>
#include <megakernels/ops/operation_list.hpp>
#include <megakernels/scheduler/program/codec.hpp>

#include <cstring>
#include <type_traits>

namespace mk {
namespace {

constexpr std::uint32_t magic = 0x50474B4Du; // "MKGP"

struct header {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t hash; // of all bytes after the header
};

/// Walks a program's fields in one order for writing and reading alike.
template <class Archive, class Program> void walk(Archive& a, Program& p) {
  a.text(p.name);
  a.text(p.metadata);
  a.plain(p.list_hash);
  a.list(p.live_axes, [](Archive& b, auto& e) {
    b.text(e.name);
    b.plain(e.capacity);
  });
  a.list(p.buffers, [](Archive& b, auto& e) {
    b.text(e.name);
    b.plain(e.kind);
    b.plain(e.bytes);
    b.plain(e.root);
  });
  a.list(p.tensors, [](Archive& b, auto& e) {
    b.text(e.name);
    b.plain(e.buffer);
    b.plain(e.base);
    b.plain(e.offset);
    b.plain(e.origin);
    b.plain(e.desc);
  });
  a.array(p.descriptors);
  a.list(p.nodes, [](Archive& b, auto& e) {
    b.text(e.name);
    b.plain(e.operation);
    b.array(e.arguments);
    b.array(e.operands);
    b.plain(e.tile_rows);
    b.plain(e.tile_columns);
  });
  a.array(p.counters);
  a.array(p.records);
  a.array(p.overflow);
  a.list(p.workers, [](Archive& b, auto& e) {
    b.plain(e.first);
    b.plain(e.count);
  });
}

class writer {
public:
  std::vector<std::byte> bytes;

  template <class T> void plain(T const& value) { put(&value, sizeof value); }
  void text(std::string const& value) {
    plain(static_cast<std::uint64_t>(value.size()));
    put(value.data(), value.size());
  }
  template <class T> void array(std::vector<T> const& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    plain(static_cast<std::uint64_t>(values.size()));
    put(values.data(), values.size() * sizeof(T));
  }
  template <class T, class Walk> void list(std::vector<T> const& values, Walk walk_one) {
    plain(static_cast<std::uint64_t>(values.size()));
    for (auto const& value : values) walk_one(*this, value);
  }

private:
  void put(void const* from, std::size_t count) {
    auto const at = bytes.size();
    bytes.resize(at + count);
    if (count > 0) std::memcpy(bytes.data() + at, from, count);
  }
};

class reader {
public:
  explicit reader(std::span<std::byte const> bytes) : bytes_(bytes) {}

  template <class T> void plain(T& value) { take(&value, sizeof value); }
  void text(std::string& value) {
    value.resize(count_of(1));
    take(value.data(), value.size());
  }
  template <class T> void array(std::vector<T>& values) {
    values.resize(count_of(sizeof(T)));
    take(values.data(), values.size() * sizeof(T));
  }
  template <class T, class Walk> void list(std::vector<T>& values, Walk walk_one) {
    auto const count = count_of(1); // each element takes more than one byte, so growth is bounded by what is there
    for (std::uint64_t i = 0; i < count; ++i) walk_one(*this, values.emplace_back());
  }
  void expect_end() const {
    if (at_ != bytes_.size()) fail(std::to_string(bytes_.size() - at_) + " bytes follow the program");
  }

private:
  std::uint64_t count_of(std::size_t element_bytes) {
    std::uint64_t count = 0;
    plain(count);
    if (count > (bytes_.size() - at_) / element_bytes)
      fail("a list of " + std::to_string(count) + " elements is longer than the file");
    return count;
  }
  void take(void* to, std::size_t count) {
    if (count > bytes_.size() - at_) fail("the file ends in the middle of a field");
    if (count > 0) std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
  }
  [[noreturn]] void fail(std::string const& what) const {
    throw program_error("program, byte " + std::to_string(sizeof(header) + at_) + ": " + what);
  }

  std::span<std::byte const> bytes_;
  std::size_t at_ = 0;
};

} // namespace

std::uint64_t hash_of(std::span<std::byte const> bytes) {
  detail::fnv1a hash;
  for (auto byte : bytes) hash.add_byte(std::to_integer<std::uint8_t>(byte));
  return hash.state;
}

std::vector<std::byte> encode(program const& p) {
  writer w;
  w.plain(header{});
  walk(w, p);
  header const h{magic, program_version, hash_of(std::span(w.bytes).subspan(sizeof(header)))};
  std::memcpy(w.bytes.data(), &h, sizeof h);
  return std::move(w.bytes);
}

program decode(std::span<std::byte const> bytes) {
  header h{};
  if (bytes.size() < sizeof h)
    throw program_error("program: " + std::to_string(bytes.size()) + " bytes are too few for a header of " +
                        std::to_string(sizeof h));
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.magic != magic) throw program_error("program, byte 0: not a program file (wrong magic number)");
  if (h.version != program_version)
    throw program_error("program, byte 4: version " + std::to_string(h.version) + ", this library reads version " +
                        std::to_string(program_version));
  auto const body = bytes.subspan(sizeof h);
  if (h.hash != hash_of(body)) throw program_error("program, byte 8: the hash does not match: truncated or damaged");
  reader r(body);
  program p;
  walk(r, p);
  r.expect_end();
  return p;
}

} // namespace mk
