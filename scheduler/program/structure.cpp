#include <megakernels/ops/error.hpp>
#include <megakernels/scheduler/program/internal/structure.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

namespace mk::internal {
namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

[[noreturn]] void fail(std::string const& what) { throw program_error("program: " + what); }

void expect(bool ok, std::string const& where, std::string_view what) {
  if (!ok) fail(where + ": " + std::string(what));
}

class structure {
public:
  structure(program const& p, operation_table const& table) : p_(p), table_(table) {}

  std::vector<work_shape> check() const {
    if (p_.list_hash != table_.hash)
      fail(quoted(p_.name) + " was made for another operation list (hash " + std::to_string(p_.list_hash) +
           ", this device has " + std::to_string(table_.hash) + ")");
    check_live_axes();
    check_buffers();
    for (std::size_t i = 0; i < p_.tensors.size(); ++i) check_tensor(i);
    check_descriptors(p_);
    check_nodes();
    std::vector<work_shape> works;
    works.reserve(p_.nodes.size());
    for (auto const& node : p_.nodes) works.push_back(check_grid(node));
    check_records();
    check_coverage(works);
    return works;
  }

private:
  void check_live_axes() const {
    std::set<std::string> names;
    for (auto const& axis : p_.live_axes) {
      auto const where = "live axis " + quoted(axis.name);
      expect(axis.capacity >= 1, where, "capacity is less than 1");
      expect(names.insert(axis.name).second, where, "the name occurs twice");
    }
  }

  void check_buffers() const {
    std::set<std::string> names;
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) {
      auto const& b = p_.buffers[i];
      auto const where = "buffer " + quoted(b.name);
      expect(static_cast<std::uint32_t>(b.kind) <= static_cast<std::uint32_t>(buffer_kind::workspace), where,
             "unknown kind");
      expect(b.bytes <= std::uint64_t(1) << 62, where, "of more than 2^62 bytes");
      expect(names.insert(b.name).second, where, "the name occurs twice");
      if (b.kind == buffer_kind::workspace) continue;
      expect(b.root >= 0 && static_cast<std::size_t>(b.root) < p_.tensors.size(), where, "has no root tensor");
      auto const& root = p_.tensors[static_cast<std::size_t>(b.root)];
      expect(root.buffer == i && root.base < 0 && root.offset == 0, where, "its root tensor does not fill it");
      bool const fixed = b.kind == buffer_kind::constant || b.kind == buffer_kind::state;
      for (auto const& e : root.desc.extents)
        expect(!(fixed && e.is_live()), where, "a constant or state has a live axis");
    }
  }

  void check_tensor(std::size_t index) const {
    auto const& t = p_.tensors[index];
    auto const where = "tensor " + quoted(t.name);
    expect(t.buffer < p_.buffers.size(), where, "its buffer does not exist");
    expect(t.base >= -1, where, "its base does not exist");
    expect(is_known(t.desc.type), where, "unknown data type");
    expect(t.desc.rank >= 1 && t.desc.rank <= max_rank, where, "its rank is not from 1 to 4");
    for (std::size_t i = 0; i < static_cast<std::size_t>(t.desc.rank); ++i) {
      auto const& e = t.desc.extents[i];
      expect(e.live >= -1 && e.live < static_cast<std::int64_t>(p_.live_axes.size()), where, "unknown live axis");
      expect(!e.is_live() || e.capacity == p_.live_axes[static_cast<std::size_t>(e.live)].capacity, where,
             "its capacity differs from that of its live axis");
      expect(e.reserved == 0, where, "reserved bits are set");
    }
    auto const& buffer = p_.buffers[t.buffer];
    auto const bytes = checked_span(t, where);
    expect(bytes <= buffer.bytes && t.offset <= buffer.bytes - bytes, where,
           "leaves its buffer " + quoted(buffer.name) + " of " + std::to_string(buffer.bytes) + " bytes");
    expect(t.offset % static_cast<std::uint64_t>(tylo::bytes_of(t.desc.type)) == 0, where, "is not aligned");
    if (t.base < 0)
      expect(buffer.kind == buffer_kind::workspace || buffer.root == static_cast<std::int32_t>(index), where,
             "is a second root of its buffer");
    else
      check_window(t, where);
  }

  static std::uint64_t checked_span(program::tensor const& t, std::string const& where) {
    try {
      return span_bytes(t.desc);
    } catch (program_error const& e) {
      fail(where + ": " + e.what());
    }
  }

  void check_window(program::tensor const& t, std::string const& where) const {
    expect(static_cast<std::size_t>(t.base) < p_.tensors.size(), where, "its base does not exist");
    auto const& base = p_.tensors[static_cast<std::size_t>(t.base)];
    expect(base.base < 0 && base.buffer == t.buffer && base.desc.rank == t.desc.rank && base.desc.type == t.desc.type &&
               base.desc.strides == t.desc.strides,
           where, "does not match the tensor that it is a window of");
    bool const empty = span_bytes(t.desc) == 0; // then it starts where its base does: past its end there is nothing
    std::uint64_t offset = base.offset;
    for (std::size_t i = 0; i < static_cast<std::size_t>(t.desc.rank); ++i) {
      auto const& e = t.desc.extents[i];
      auto const& whole = base.desc.extents[i];
      expect(whole.is_live() ? e == whole && t.origin[i] == 0
                             : !e.is_live() && t.origin[i] >= 0 && t.origin[i] <= whole.capacity &&
                                   e.capacity <= whole.capacity - t.origin[i],
             where, "leaves the tensor that it is a window of");
      if (!empty)
        offset += static_cast<std::uint64_t>(t.origin[i]) * static_cast<std::uint64_t>(t.desc.strides[i]) *
                  static_cast<std::uint64_t>(tylo::bytes_of(t.desc.type));
    }
    expect(offset == t.offset, where, "its offset does not agree with its origin");
  }

  void check_nodes() const {
    std::vector<bool> produced(p_.tensors.size());
    for (auto const& node : p_.nodes) {
      expect(node.operation < table_.operations.size(), "node " + quoted(node.name), "unknown operation");
      check_node(node, produced);
    }
  }

  void check_node(program::node const& node, std::vector<bool>& produced) const {
    auto const& op = table_.operations[node.operation];
    auto const where = describe(node, table_);
    expect(node.arguments.size() == op.arguments_bytes, where, "wrong number of argument bytes");
    expect(node.operands.size() == op.slots.size(), where, "wrong number of operands");

    std::vector<tensor_desc> inputs(op.slots.size(), absent);
    std::vector<tensor_labels> labels(op.slots.size());
    auto const wanted = std::make_unique<bool[]>(op.slots.size());
    for (std::size_t i = 0; i < op.slots.size(); ++i) {
      auto const& slot = op.slots[i];
      auto const operand = node.operands[i];
      auto const named = where + ": " + std::string(slot.name);
      expect(operand >= -1 && operand < static_cast<std::int64_t>(p_.tensors.size()), named, "unknown tensor");
      expect(operand >= 0 || slot.may_be_absent(), named, "is absent");
      wanted[i] = slot.is_output() && operand >= 0;
      if (operand < 0) continue;
      auto const at = static_cast<std::size_t>(operand);
      check_use(slot, at, named);
      if (slot.is_output()) {
        expect(!produced[at], named, "the tensor is the output of two nodes");
        produced[at] = true;
      } else {
        inputs[i] = p_.tensors[at].desc;
        labels[i].name = p_.tensors[at].name;
      }
    }
    check_shapes(node, op, shape_query(op, node.name, inputs, labels, std::span(wanted.get(), op.slots.size())));
  }

  void check_use(slot const& s, std::size_t tensor, std::string const& where) const {
    auto const kind = p_.buffers[p_.tensors[tensor].buffer].kind;
    if (s.use == slot_use::update) expect(kind == buffer_kind::state, where, "is updated, but is not a state");
    if (!s.is_output()) return;
    expect(kind == buffer_kind::workspace || kind == buffer_kind::output, where, "is written, but is read only");
    expect(p_.tensors[tensor].base < 0, where, "is a window, expected a whole tensor as an output");
  }

  void check_shapes(program::node const& node, operation const& op, shape_query const& query) const {
    auto const where = describe(node, table_);
    std::vector<output_shape> made;
    try {
      made = op.infer(node.arguments.data(), query);
    } catch (graph_error const& e) {
      fail(e.what());
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < op.slots.size(); ++i) {
      if (!op.slots[i].is_output() || node.operands[i] < 0) continue;
      auto const& desc = p_.tensors[static_cast<std::size_t>(node.operands[i])].desc;
      expect(next < made.size() && made[next].desc == desc, where + ": " + std::string(op.slots[i].name),
             "has another shape than the operation makes");
      ++next;
    }
    expect(next == made.size(), where, "an output is missing");
  }

  work_shape check_grid(program::node const& node) const {
    auto const where = describe(node, table_);
    auto const& op = table_.operations[node.operation];
    auto const work = op.work(node.arguments.data(), operands_of(p_, node));
    expect(node.tile_rows >= 1 && node.tile_rows <= INT32_MAX && node.tile_columns >= 1 &&
               node.tile_columns <= INT32_MAX,
           where, "a tile size is not from 1 to 2^31 - 1");
    expect(node.tile_columns % work.column_granule == 0 || node.tile_columns >= work.columns, where,
           "its tiles cut a granule of columns");
    return work;
  }

  void check_records() const {
    std::uint64_t next = 0;
    for (auto const& worker : p_.workers) {
      expect(worker.first == next, "workers", "their lists of records do not follow each other");
      next += worker.count;
    }
    expect(next == p_.records.size(), "workers", "their lists are not all records");
    expect(!p_.workers.empty(), "workers", "there is none");

    check_lists();
    std::vector<std::uint64_t> signals(p_.counters.size());
    for (std::size_t i = 0; i < p_.records.size(); ++i) {
      auto const& r = p_.records[i];
      auto const where = "record " + std::to_string(i);
      expect(r.node < p_.nodes.size(), where, "unknown node");
      for (auto counter : waits_of(p_, r)) expect(counter < p_.counters.size(), where, "waits on an unknown counter");
      for (auto counter : signals_of(p_, r)) {
        expect(counter < p_.counters.size(), where, "signals an unknown counter");
        ++signals[counter];
      }
    }
    for (std::size_t c = 0; c < p_.counters.size(); ++c)
      if (signals[c] != p_.counters[c] || signals[c] == 0)
        fail("counter " + std::to_string(c) + " expects " + std::to_string(p_.counters[c]) + " signals and gets " +
             std::to_string(signals[c]));
  }

  /// Were lists shared, a small file could name more waits than anyone can look at.
  void check_lists() const {
    std::uint64_t entries = 0;
    for (std::size_t i = 0; i < p_.records.size(); ++i) {
      auto const& r = p_.records[i];
      auto const where = "record " + std::to_string(i);
      expect(r.pages_in_flight >= 1, where, "allows no page in flight");
      expect(r.wait_count <= 2 || list_fits(r.wait[0], r.wait_count), where, "its waits leave the list");
      expect(r.signal_count <= 1 || list_fits(r.signal, r.signal_count), where, "its signals leave the list");
      entries += (r.wait_count > 2 ? r.wait_count : 0u) + (r.signal_count > 1 ? r.signal_count : 0u);
    }
    expect(entries <= p_.overflow.size(), "records", "their lists of waits and signals overlap");
  }

  bool list_fits(std::uint32_t first, std::uint32_t count) const {
    return first <= p_.overflow.size() && count <= p_.overflow.size() - first;
  }

  /// Each tile of each node's grid is in exactly one record.
  void check_coverage(std::vector<work_shape> const& works) const {
    std::vector<record> sorted = p_.records;
    std::sort(sorted.begin(), sorted.end(), [](record const& a, record const& b) {
      return std::tie(a.node, a.column_tile, a.row_first) < std::tie(b.node, b.column_tile, b.row_first);
    });
    auto next = sorted.begin();
    for (std::uint32_t n = 0; n < p_.nodes.size(); ++n) {
      auto const& node = p_.nodes[n];
      auto const& work = works[n];
      auto const where = describe(node, table_);
      auto const tiles = [](std::int64_t length, std::int64_t tile) { return length / tile + (length % tile != 0); };
      auto const row_tiles = tiles(work.rows.capacity, node.tile_rows);
      auto const column_tiles = row_tiles == 0 ? 0 : tiles(work.columns, node.tile_columns);
      for (std::int64_t column = 0; column < column_tiles; ++column)
        for (std::int64_t row = 0; row < row_tiles; ++next) {
          expect(next != sorted.end() && next->node == n && next->column_tile == column && next->row_first == row &&
                     next->row_last > row && next->row_last <= row_tiles,
                 where, "its tiles are not covered exactly once, at column tile " + std::to_string(column));
          expect(work.rows_divisible || next->row_last == row_tiles, where,
                 "a task takes part of rows that stay whole");
          row = next->row_last;
        }
    }
    expect(next == sorted.end(), "records", "some are outside their node's grid");
  }

  program const& p_;
  operation_table const& table_;
};

} // namespace

std::string describe(program::node const& node, operation_table const& table) {
  auto const op = node.operation < table.operations.size() ? table.operations[node.operation].name : "unknown";
  return "node " + quoted(node.name) + " (" + std::string(op) + ")";
}

std::vector<work_shape> check_structure(program const& p, operation_table const& table) {
  return structure(p, table).check();
}

} // namespace mk::internal
