#include <megakernels/runtime/gpu/internal/image.hpp>

#include <cstring>
#include <span>

namespace mk::gpu {
namespace {

/// Puts arrays one after another into one block.
class block_writer {
public:
  explicit block_writer(std::uint64_t header_bytes) { bytes.resize(header_bytes); }

  template <class T> std::uint64_t put(std::span<T const> values) {
    bytes.resize((bytes.size() + 15) / 16 * 16);
    auto const at = bytes.size();
    bytes.resize(at + values.size_bytes());
    if (!values.empty()) std::memcpy(bytes.data() + at, values.data(), values.size_bytes());
    return at;
  }
  template <class T> std::uint64_t put(std::vector<T> const& values) { return put(std::span<T const>(values)); }

  std::vector<std::byte> bytes;
};

std::vector<device::image_tensor> tensors_of(program const& p) {
  std::vector<device::image_tensor> result;
  for (auto const& t : p.tensors)
    result.push_back({.offset = t.offset,
                      .buffer = t.buffer,
                      .constant = p.buffers[t.buffer].kind == buffer_kind::constant,
                      .desc = t.desc});
  return result;
}

struct node_tables {
  std::vector<device::image_node> nodes;
  std::vector<std::int32_t> operands;
  std::vector<std::byte> arguments;
};

node_tables nodes_of(detail::loaded_program const& loaded) {
  node_tables tables;
  for (std::size_t n = 0; n < loaded.program.nodes.size(); ++n) {
    auto const& node = loaded.program.nodes[n];
    auto const& work = loaded.work[n];
    tables.nodes.push_back({.operation = node.operation,
                            .operand_count = static_cast<std::uint32_t>(node.operands.size()),
                            .first_operand = static_cast<std::uint32_t>(tables.operands.size()),
                            .first_argument = static_cast<std::uint32_t>(tables.arguments.size()),
                            .argument_bytes = static_cast<std::uint32_t>(node.arguments.size()),
                            .live_rows = work.rows.live,
                            .rows = work.rows.capacity,
                            .columns = work.columns,
                            .tile_rows = node.tile_rows,
                            .tile_columns = node.tile_columns});
    tables.operands.insert(tables.operands.end(), node.operands.begin(), node.operands.end());
    tables.arguments.insert(tables.arguments.end(), node.arguments.begin(), node.arguments.end());
  }
  return tables;
}

} // namespace

resident_image::resident_image(std::shared_ptr<detail::loaded_program const> loaded,
                               std::shared_ptr<memory_pool> const& pool, gpu_memory& copies, std::uint32_t epoch)
    : loaded_(std::move(loaded)) {
  auto const& p = loaded_->program;
  auto const tables = nodes_of(*loaded_);
  std::vector<device::image_worker> workers;
  for (auto const& w : p.workers) workers.push_back({w.first, w.count});

  block_writer block(sizeof(device::program_image));
  auto const nodes = block.put(tables.nodes);
  auto const tensors = block.put(tensors_of(p));
  auto const operands = block.put(tables.operands);
  auto const arguments = block.put(tables.arguments);
  auto const records = block.put(p.records);
  auto const overflow = block.put(p.overflow);
  auto const expected = block.put(p.counters);
  auto const ranges = block.put(workers);
  auto const counters = block.put(std::vector<std::uint32_t>(p.counters.size() + 1));

  memory_ = memory_pool::take(pool, block.bytes.size());
  auto* const base = memory_.get();
  counters_ = base + counters;
  device::program_image const image{.nodes = reinterpret_cast<device::image_node const*>(base + nodes),
                                    .tensors = reinterpret_cast<device::image_tensor const*>(base + tensors),
                                    .operands = reinterpret_cast<std::int32_t const*>(base + operands),
                                    .arguments = base + arguments,
                                    .records = reinterpret_cast<record const*>(base + records),
                                    .overflow = reinterpret_cast<std::uint32_t const*>(base + overflow),
                                    .expected = reinterpret_cast<std::uint32_t const*>(base + expected),
                                    .workers = reinterpret_cast<device::image_worker const*>(base + ranges),
                                    .counters = reinterpret_cast<std::uint32_t*>(counters_),
                                    .epoch = reinterpret_cast<std::uint32_t*>(counters_) + p.counters.size(),
                                    .worker_count = static_cast<std::uint32_t>(p.workers.size())};
  std::memcpy(block.bytes.data(), &image, sizeof image);
  copies.to_device(base, block.bytes.data(), block.bytes.size());
  copies.hold_constant(base, counters);
  set_epoch(copies, epoch);
}

void resident_image::set_epoch(gpu_memory& copies, std::uint32_t last) {
  std::vector<std::uint32_t> words;
  for (auto expected : program().counters) words.push_back(expected * last);
  words.push_back(last);
  auto const bytes = std::as_bytes(std::span(words));
  copies.to_device(counters_, bytes.data(), bytes.size());
}

std::vector<std::uint32_t> resident_image::counters(gpu_memory& copies) const {
  std::vector<std::uint32_t> words(program().counters.size());
  auto const bytes = std::as_writable_bytes(std::span(words));
  copies.to_host(bytes.data(), counters_, bytes.size());
  return words;
}

std::uint32_t resident_image::epoch(gpu_memory& copies) const {
  std::uint32_t word = 0;
  copies.to_host(reinterpret_cast<std::byte*>(&word), counters_ + sizeof(word) * program().counters.size(),
                 sizeof word);
  return word;
}

} // namespace mk::gpu
