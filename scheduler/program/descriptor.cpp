#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/program/internal/structure.hpp>

#include <string>

namespace mk::internal {
namespace {

constexpr std::int64_t most_extent = std::int64_t(1) << 32;
constexpr std::int64_t most_stride = std::int64_t(1) << 40;
constexpr std::int64_t most_box_extent = 256;
constexpr std::int64_t most_box_bytes = std::int64_t(1) << 20; // what an mbarrier can wait for
constexpr std::int64_t granule = 16;

class descriptor_check {
public:
  descriptor_check(program const& p, std::size_t index)
      : p_(p), d_(p.descriptors[index]), where_("descriptor " + std::to_string(index)) {}

  void run() const {
    check_buffer();
    expect(d_.rank >= 1 && d_.rank <= max_descriptor_rank, "its rank is not from 1 to 5");
    expect(is_known(d_.type), "unknown data type");
    expect(is_known(d_.swizzle), "unknown swizzle");
    expect(d_.reserved == 0, "reserved bits are set");
    for (auto i = rank(); i < d_.extents.size(); ++i)
      expect(d_.extents[i] == 0 && d_.strides[i] == 0 && d_.box[i] == 0, "an axis past its rank is not zero" + axis(i));
    check_strides();
    check_box();
    check_span();
  }

private:
  std::size_t rank() const { return static_cast<std::size_t>(d_.rank); }
  static std::string axis(std::size_t i) { return ", axis " + std::to_string(i); }

  void expect(bool ok, std::string const& what) const {
    if (!ok) throw program_error("program: " + where_ + ": " + what);
  }

  void check_buffer() const {
    expect(d_.buffer < p_.buffers.size(), "its buffer does not exist");
    auto const& b = p_.buffers[d_.buffer];
    expect(b.kind == buffer_kind::constant || b.kind == buffer_kind::state || b.kind == buffer_kind::workspace,
           "its buffer '" + b.name + "' is " + std::string(name_of(b.kind)) +
               ", and lies elsewhere in each submission");
  }

  void check_strides() const {
    auto const inner = rank() - 1;
    expect(d_.offset % granule == 0, "its offset is not a multiple of 16 bytes");
    expect(d_.strides[inner] == bytes_of(d_.type), "its innermost stride is not that of dense elements");
    for (std::size_t i = 0; i < inner; ++i)
      expect(d_.strides[i] >= granule && d_.strides[i] < most_stride && d_.strides[i] % granule == 0,
             "stride " + std::to_string(d_.strides[i]) + " is not a multiple of 16 bytes from 16 to 2^40" + axis(i));
  }

  void check_box() const {
    std::int64_t bytes = bytes_of(d_.type);
    for (std::size_t i = 0; i < rank(); ++i) {
      expect(d_.box[i] >= 1 && d_.box[i] <= most_box_extent,
             "its box has " + std::to_string(d_.box[i]) + " elements, not 1 to 256" + axis(i));
      bytes *= d_.box[i];
      expect(bytes < most_box_bytes, "its box has 2^20 bytes or more");
    }
    auto const row = std::int64_t(d_.box[rank() - 1]) * bytes_of(d_.type);
    expect(row % granule == 0, "rows of its box have " + std::to_string(row) + " bytes, not a multiple of 16");
    auto const swizzled = row_bytes_of(d_.swizzle);
    expect(swizzled == 0 || row == swizzled,
           "rows of its box have " + std::to_string(row) + " bytes, its swizzle " + std::to_string(swizzled));
  }

  void check_span() const {
    __extension__ using wide = __int128;
    wide bytes = bytes_of(d_.type);
    for (std::size_t i = 0; i < rank(); ++i) {
      expect(d_.extents[i] >= 1 && d_.extents[i] <= most_extent,
             "extent " + std::to_string(d_.extents[i]) + " is not from 1 to 2^32" + axis(i));
      bytes += wide(d_.extents[i] - 1) * d_.strides[i]; // below 2^72 each
    }
    auto const& buffer = p_.buffers[d_.buffer];
    expect(bytes + d_.offset <= buffer.bytes,
           "leaves its buffer '" + buffer.name + "' of " + std::to_string(buffer.bytes) + " bytes");
  }

  program const& p_;
  descriptor const& d_;
  std::string where_;
};

} // namespace

void check_descriptors(program const& p) {
  for (std::size_t i = 0; i < p.descriptors.size(); ++i) descriptor_check(p, i).run();
}

} // namespace mk::internal
