#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/encode.hpp>

#include <algorithm>
#include <limits>

namespace mk {
namespace {

buffer_kind kind_of(value_kind kind) {
  switch (kind) {
  case value_kind::constant:
    return buffer_kind::constant;
  case value_kind::state:
    return buffer_kind::state;
  case value_kind::input:
    return buffer_kind::input;
  case value_kind::step:
    return buffer_kind::step;
  default:
    return buffer_kind::output;
  }
}

class encoder {
public:
  encoder(graph const& g, schedule const& s, operation_table const& table) : g_(g), s_(s), table_(table) {}

  program run() {
    p_.name = g_.name();
    p_.list_hash = table_.hash;
    for (auto const& axis : g_.live_axes()) p_.live_axes.push_back({axis.name, axis.capacity});
    p_.buffers.push_back({.name = "workspace", .kind = buffer_kind::workspace, .bytes = s_.memory.workspace_bytes});
    for (std::size_t v = 0; v < g_.values().size(); ++v) add_tensor(v);
    for (std::size_t n = 0; n < g_.nodes().size(); ++n) add_node(n);
    number_counters();
    for (auto const& list : s_.lists) {
      p_.workers.push_back({static_cast<std::uint32_t>(p_.records.size()), static_cast<std::uint32_t>(list.size())});
      for (auto task : list) add_record(task);
    }
    return std::move(p_);
  }

private:
  /// Values and tensors have the same numbers.
  void add_tensor(std::size_t index) {
    auto const& v = g_.values()[index];
    program::tensor t{.name = v.labels.name, .base = v.base, .origin = v.origin, .desc = v.desc};
    if (v.base >= 0) {
      auto const& base = p_.tensors[static_cast<std::size_t>(v.base)];
      t.buffer = base.buffer;
      t.offset = base.offset;
      for (std::size_t i = 0; i < max_rank && span_bytes(v.desc) > 0; ++i)
        t.offset += static_cast<std::uint64_t>(v.origin[i] * v.desc.strides[i] * tylo::bytes_of(v.desc.type));
    } else if (is_intermediate(v)) {
      t.offset = s_.memory.offsets[index];
    } else {
      t.buffer = static_cast<std::uint32_t>(p_.buffers.size());
      p_.buffers.push_back({.name = v.output.empty() ? v.labels.name : v.output,
                            .kind = kind_of(v.kind),
                            .bytes = span_bytes(v.desc),
                            .root = static_cast<std::int32_t>(index)});
    }
    p_.tensors.push_back(std::move(t));
  }

  void add_node(std::size_t index) {
    auto const& node = g_.nodes()[index];
    auto const* const found = table_.find(node.op->name);
    if (found == nullptr || found->revision != node.op->revision || found->infer != node.op->infer)
      throw graph_error("node '" + node.name + "': the operation list has no operation '" + std::string(node.op->name) +
                        "' of revision " + std::to_string(node.op->revision));
    p_.nodes.push_back({.name = node.name,
                        .operation = static_cast<std::uint32_t>(found - table_.operations.data()),
                        .arguments = node.arguments,
                        .operands = node.operands,
                        .tile_rows = s_.tiles.nodes[index].tile_rows,
                        .tile_columns = s_.tiles.nodes[index].tile_columns});
  }

  /// Which of a task's waits cross workers; gives the sets of those a counter.
  void number_counters() {
    constexpr auto none = UINT32_MAX;
    std::vector<std::uint32_t> counter(s_.depends.sets.size(), none);
    std::vector<std::uint32_t> home(s_.depends.sets.size()); // the worker of all producers of a set, or none
    for (std::size_t set = 0; set < home.size(); ++set) {
      auto const& tasks = s_.depends.sets[set];
      home[set] = s_.places.worker[tasks.front()];
      for (auto t : tasks)
        if (s_.places.worker[t] != home[set]) home[set] = none;
    }
    waits_.resize(s_.tiles.tasks.size());
    signals_.resize(s_.tiles.tasks.size());
    for (std::size_t t = 0; t < waits_.size(); ++t)
      for (auto set : s_.depends.waits[t]) {
        if (home[set] == s_.places.worker[t]) continue;
        if (counter[set] == none) {
          counter[set] = static_cast<std::uint32_t>(p_.counters.size());
          p_.counters.push_back(static_cast<std::uint32_t>(s_.depends.sets[set].size()));
          for (auto producer : s_.depends.sets[set]) signals_[producer].push_back(counter[set]);
        }
        waits_[t].push_back(counter[set]);
      }
  }

  void add_record(std::uint32_t task) {
    auto const& t = s_.tiles.tasks[task];
    record r{.node = t.node, .column_tile = t.column_tile, .row_first = t.row_first, .row_last = t.row_last};
    r.wait_count = count_of<std::uint16_t>(waits_[task], t);
    r.signal_count = count_of<std::uint8_t>(signals_[task], t);
    if (r.wait_count <= 2)
      std::copy(waits_[task].begin(), waits_[task].end(), r.wait);
    else
      r.wait[0] = spill(waits_[task]);
    if (r.signal_count == 1)
      r.signal = signals_[task][0];
    else if (r.signal_count > 1)
      r.signal = spill(signals_[task]);
    p_.records.push_back(r);
  }

  template <class Count> Count count_of(std::vector<std::uint32_t> const& list, tiled_task const& t) const {
    if (list.size() > std::numeric_limits<Count>::max())
      throw graph_error("node '" + g_.nodes()[t.node].name + "': a task has " + std::to_string(list.size()) +
                        " waits or signals, the limit is " + std::to_string(std::numeric_limits<Count>::max()));
    return static_cast<Count>(list.size());
  }

  std::uint32_t spill(std::vector<std::uint32_t> const& list) {
    auto const at = p_.overflow.size();
    p_.overflow.insert(p_.overflow.end(), list.begin(), list.end());
    return static_cast<std::uint32_t>(at);
  }

  graph const& g_;
  schedule const& s_;
  operation_table const& table_;
  program p_;
  std::vector<std::vector<std::uint32_t>> waits_;
  std::vector<std::vector<std::uint32_t>> signals_;
};

} // namespace

program encode(graph const& g, schedule const& s, operation_table const& table) { return encoder(g, s, table).run(); }

} // namespace mk
