#include <megakernels/runtime/gpu/internal/staging.hpp>
#include <megakernels/runtime/internal/copy.hpp>

#include <cstring>

namespace mk::gpu {
namespace {

constexpr std::uint64_t part_alignment = 64;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + part_alignment - 1) / part_alignment * part_alignment; }

/// Where the parts of a slot lie, in bytes from its start.
struct slot_layout {
  std::uint64_t live;
  std::uint64_t addresses;
  std::uint64_t feeds;
  std::vector<std::uint64_t> values; ///< of each buffer that holds step values
  std::uint64_t end;
};

slot_layout layout_of(mk::program const& p, std::size_t feeds) {
  slot_layout l{};
  l.live = aligned(sizeof(device::submission_header));
  l.addresses = l.live + aligned(p.live_axes.size() * sizeof(std::int64_t));
  l.feeds = l.addresses + aligned(p.buffers.size() * sizeof(std::byte*));
  l.end = l.feeds + aligned(feeds * sizeof(device::step_feed));
  l.values.resize(p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    if (p.buffers[b].kind != buffer_kind::step) continue;
    l.values[b] = l.end;
    l.end += aligned(p.buffers[b].bytes);
  }
  return l;
}

template <class T> T* part(std::byte* slot, std::uint64_t at) { return reinterpret_cast<T*>(slot + at); }

} // namespace

std::uint64_t slot_bytes_for(mk::program const& p, std::size_t feeds) { return layout_of(p, feeds).end; }

staged_job::staged_job(std::unique_ptr<detail::job> submitted, resident_image const& image,
                       std::shared_ptr<memory_pool> const& pool, gpu_memory& copies)
    : job_(std::move(submitted)), image_(image), pool_(pool), addresses_(job_->addresses) {
  auto const& p = image.program();
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    auto const kind = p.buffers[b].kind;
    if (kind == buffer_kind::step) addresses_[b] = nullptr;
    if (kind != buffer_kind::input && kind != buffer_kind::output) continue;
    auto const& root = p.tensors[static_cast<std::size_t>(p.buffers[b].root)];
    auto const view = view_of(root.desc, job_->addresses[b], job_->live.data());
    if (kind == buffer_kind::output) {
      addresses_[b] = stand_in_for(copies, view);
    } else if (view.data != nullptr && !copies.is_device_memory(view.data)) {
      auto const bytes = detail::span_bytes_of(view);
      owners_.push_back(memory_pool::take(pool, bytes));
      addresses_[b] = owners_.back().get();
      copies.to_device(addresses_[b], view.data, bytes);
    }
  }
  if (copies.makes_reports()) name_tensors(copies);
  for (auto const& feed : job_->feeds)
    histories_.push_back(feed.history.present() ? stand_in_for(copies, feed.history) : nullptr);
}

void staged_job::name_tensors(gpu_memory& memory) const {
  auto const& p = image_.program();
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (addresses_[b] != nullptr) memory.name(addresses_[b], p.buffers[b].bytes, p.buffers[b].name);
  for (auto const& t : p.tensors)
    if (t.base < 0 && p.buffers[t.buffer].kind == buffer_kind::workspace)
      memory.name(addresses_[t.buffer] + t.offset, span_bytes(t.desc), t.name);
}

void staged_job::discard_workspace(gpu_memory& memory) const {
  auto const& p = image_.program();
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].kind == buffer_kind::workspace) memory.discard(addresses_[b], p.buffers[b].bytes);
}

std::byte* staged_job::stand_in_for(gpu_memory& copies, tensor_view const& to) {
  if (to.data == nullptr || copies.is_device_memory(to.data)) return to.data;
  outputs_.push_back({memory_pool::take(pool_, detail::span_bytes_of(to)), to});
  return outputs_.back().memory.get();
}

void staged_job::write_slot(std::byte* to, std::byte* slot, std::uint32_t number) const {
  auto const& p = image_.program();
  auto const l = layout_of(p, job_->feeds.size());
  device::submission_header const header{.program = image_.address(),
                                         .bytes = static_cast<std::uint32_t>(l.end),
                                         .steps = job_->steps,
                                         .live = static_cast<std::uint32_t>(l.live),
                                         .addresses = static_cast<std::uint32_t>(l.addresses),
                                         .feeds = static_cast<std::uint32_t>(l.feeds),
                                         .feed_count = static_cast<std::uint32_t>(job_->feeds.size()),
                                         .number = number};
  std::memcpy(to, &header, sizeof header);
  if (!job_->live.empty()) std::memcpy(to + l.live, job_->live.data(), job_->live.size() * sizeof(std::int64_t));
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    bool const in_slot = p.buffers[b].kind == buffer_kind::step;
    part<std::byte*>(to, l.addresses)[b] = in_slot ? slot + l.values[b] : addresses_[b];
    if (!in_slot) continue;
    auto const& root = p.tensors[static_cast<std::size_t>(p.buffers[b].root)];
    auto const view = view_of(root.desc, job_->addresses[b], job_->live.data());
    if (auto const bytes = detail::span_bytes_of(view); bytes > 0) std::memcpy(to + l.values[b], view.data, bytes);
  }
  for (std::size_t f = 0; f < job_->feeds.size(); ++f) {
    auto const& feed = job_->feeds[f];
    auto const address = [&](std::uint32_t buffer) { return part<std::byte*>(to, l.addresses)[buffer]; };
    part<device::step_feed>(to, l.feeds)[f] = {
        .from = feed.from ? reinterpret_cast<std::int32_t const*>(address(*feed.from)) : nullptr,
        .to = reinterpret_cast<std::int32_t*>(address(feed.to)),
        .history = reinterpret_cast<std::int32_t*>(histories_[f]),
        .increment = feed.increment,
        .count = feed.count};
  }
}

void staged_job::fetch_outputs(gpu_memory& copies) const {
  for (auto const& o : outputs_) {
    auto from = o.to;
    std::vector<std::byte> bytes(detail::span_bytes_of(o.to));
    copies.to_host(bytes.data(), o.memory.get(), bytes.size());
    from.data = bytes.data();
    detail::copy_elements(from, o.to); // element by element: what lies between them is the caller's
  }
}

} // namespace mk::gpu
