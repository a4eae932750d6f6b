#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/weights/mapped_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace mk {
namespace {

struct descriptor {
  explicit descriptor(std::filesystem::path const& path) : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  descriptor(descriptor const&) = delete;
  descriptor& operator=(descriptor const&) = delete;
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
  int number;
};

[[noreturn]] void fail(std::filesystem::path const& path, char const* action) {
  throw file_error(path.string() + ": cannot " + action + ": " + std::strerror(errno));
}

void unmap(std::span<std::byte const> bytes) noexcept {
  if (!bytes.empty()) ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

} // namespace

mapped_file::mapped_file(std::filesystem::path const& path) {
  descriptor const file(path);
  if (file.number < 0) fail(path, "open");
  struct stat status{};
  if (::fstat(file.number, &status) != 0) fail(path, "read its size");
  if (!S_ISREG(status.st_mode)) throw file_error(path.string() + ": not a regular file");
  auto const size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (memory == MAP_FAILED) fail(path, "map");
  ::madvise(memory, size, MADV_SEQUENTIAL);
  bytes_ = {static_cast<std::byte const*>(memory), size};
}

mapped_file::mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  if (this != &other) {
    unmap(bytes_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

mapped_file::~mapped_file() { unmap(bytes_); }

} // namespace mk
