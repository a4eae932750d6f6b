#include <megakernels/scheduler/program/disassemble.hpp>

#include <algorithm>
#include <iomanip>
#include <optional>
#include <set>
#include <sstream>

namespace mk {
namespace {

/// Longer lists of waits, signals and names are cut: a crafted program could make them huge.
constexpr std::size_t most_listed = 16;

std::string in_quotes(std::string_view text) {
  std::string result(1, '\'');
  for (char c : text)
    if (c == '\n')
      result += "\\n";
    else if (c == '\'' || c == '\\')
      result += {'\\', c};
    else
      result += c;
  return result + '\'';
}

template <class T> std::string name_at(std::vector<T> const& list, std::int64_t index) {
  return index >= 0 && static_cast<std::uint64_t>(index) < list.size()
             ? in_quotes(list[static_cast<std::size_t>(index)].name)
             : "?";
}

class disassembler {
public:
  disassembler(program const& p, operation_table const& table) : p_(p), table_(table) { link_counters(); }

  std::string run() {
    text_ << "program " << in_quotes(p_.name) << ": list " << std::hex << std::setw(16) << std::setfill('0')
          << p_.list_hash << std::dec << (p_.list_hash == table_.hash ? "" : " (another one)") << ", "
          << p_.nodes.size() << " nodes, " << p_.records.size() << " records, " << p_.counters.size() << " counters, "
          << p_.workers.size() << " workers\n";
    if (!p_.metadata.empty()) text_ << "metadata " << in_quotes(p_.metadata) << '\n';
    for (auto const& axis : p_.live_axes) text_ << "live " << in_quotes(axis.name) << " <=" << axis.capacity << '\n';
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) write_buffer(i);
    for (std::size_t i = 0; i < p_.tensors.size(); ++i) write_tensor(i);
    for (std::size_t i = 0; i < p_.descriptors.size(); ++i) write_descriptor(i);
    for (std::size_t i = 0; i < p_.nodes.size(); ++i) write_node(i);
    for (std::size_t i = 0; i < p_.workers.size(); ++i) write_worker(i);
    return std::move(text_).str();
  }

private:
  using counters = std::span<std::uint32_t const>;

  /// The list of a record, or nothing where it leaves the overflow list.
  std::optional<counters> list_of(counters inline_list, std::uint32_t first, std::size_t count) const {
    if (count <= inline_list.size()) return inline_list.first(count);
    if (first > p_.overflow.size() || count > p_.overflow.size() - first) return std::nullopt;
    return counters(p_.overflow).subspan(first, count);
  }
  std::optional<counters> waits_of(record const& r) const { return list_of(r.wait, r.wait[0], r.wait_count); }
  std::optional<counters> signals_of(record const& r) const {
    return list_of(counters(&r.signal, 1), r.signal, r.signal_count);
  }

  /// Which nodes signal each counter, and which wait for it.
  void link_counters() {
    producers_.resize(p_.counters.size());
    consumers_.resize(p_.counters.size());
    std::uint64_t listed = 0; // entries of long lists; where lists overlap there may be far too many to follow
    for (auto const& r : p_.records) {
      listed += (r.wait_count > 2 ? r.wait_count : 0u) + (r.signal_count > 1 ? r.signal_count : 0u);
      if (listed > p_.overflow.size()) return;
      for (auto c : signals_of(r).value_or(counters()))
        if (c < producers_.size()) producers_[c].insert(r.node);
      for (auto c : waits_of(r).value_or(counters()))
        if (c < consumers_.size()) consumers_[c].insert(r.node);
    }
  }

  void write_buffer(std::size_t index) {
    auto const& b = p_.buffers[index];
    text_ << "buffer " << index << ' ' << in_quotes(b.name) << ' ' << name_of(b.kind) << ", " << b.bytes << " bytes";
    if (b.root != -1) text_ << ", shape of tensor " << b.root << ' ' << name_at(p_.tensors, b.root);
    text_ << '\n';
  }

  void write_tensor(std::size_t index) {
    auto const& t = p_.tensors[index];
    text_ << "tensor " << index << ' ' << in_quotes(t.name) << ' ' << name_of(t.desc.type) << " [";
    bool const known_rank = t.desc.rank >= 0 && t.desc.rank <= max_rank;
    auto const rank = known_rank ? static_cast<std::size_t>(t.desc.rank) : 0;
    for (std::size_t i = 0; i < rank; ++i) {
      auto const& length = t.desc.extents[i];
      text_ << (i == 0 ? "" : ", ");
      if (length.is_live()) text_ << name_at(p_.live_axes, length.live) << "<=";
      text_ << length.capacity;
    }
    text_ << (known_rank ? "] strides [" : "?] strides [");
    for (std::size_t i = 0; i < rank; ++i) text_ << (i == 0 ? "" : ", ") << t.desc.strides[i];
    text_ << "], " << name_at(p_.buffers, t.buffer) << " + " << t.offset;
    if (t.base != -1) {
      text_ << ", window of tensor " << t.base << ' ' << name_at(p_.tensors, t.base) << " at [";
      for (std::size_t i = 0; i < rank; ++i) text_ << (i == 0 ? "" : ", ") << t.origin[i];
      text_ << ']';
    }
    text_ << '\n';
  }

  void write_descriptor(std::size_t index) {
    auto const& d = p_.descriptors[index];
    auto const rank = std::min(static_cast<std::uint32_t>(d.rank), static_cast<std::uint32_t>(max_descriptor_rank));
    auto const write_list = [&](char const* what, auto const& values) {
      text_ << what;
      for (std::size_t i = 0; i < rank; ++i) text_ << (i == 0 ? "" : ", ") << values[i];
      text_ << ']';
    };
    text_ << "descriptor " << index << ' ' << name_of(d.type);
    write_list(" [", d.extents);
    write_list(" strides [", d.strides);
    write_list(" bytes, box [", d.box);
    text_ << ", swizzle " << name_of(d.swizzle) << ", " << name_at(p_.buffers, d.buffer) << " + " << d.offset << '\n';
  }

  void write_node(std::size_t index) {
    auto const& node = p_.nodes[index];
    auto const* const op = node.operation < table_.operations.size() ? &table_.operations[node.operation] : nullptr;
    text_ << "node " << index << ' ' << in_quotes(node.name) << ' ' << (op ? op->name : "?") << ", tiles "
          << node.tile_rows << " x " << node.tile_columns << ", arguments " << std::hex << std::setfill('0');
    for (auto byte : node.arguments) text_ << std::setw(2) << static_cast<unsigned>(byte);
    text_ << std::dec << (node.arguments.empty() ? "none\n" : "\n");
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      if (node.operands[i] != -1)
        text_ << "  " << (op && i < op->slots.size() ? op->slots[i].name : "?") << " = tensor " << node.operands[i]
              << ' ' << name_at(p_.tensors, node.operands[i]) << '\n';
  }

  void write_worker(std::size_t index) {
    auto const& worker = p_.workers[index];
    text_ << "worker " << index << ": " << worker.count << " records from " << worker.first << '\n';
    auto const end = std::uint64_t(worker.first) + worker.count;
    // The lists of workers may overlap in a crafted program: each record is shown once.
    for (auto i = std::max<std::uint64_t>(worker.first, shown_); i < std::min(end, std::uint64_t(p_.records.size()));
         ++i) {
      write_record(i, p_.records[i]);
      shown_ = i + 1;
    }
    if (end > p_.records.size()) text_ << "  ?\n";
  }

  void write_record(std::uint64_t index, record const& r) {
    text_ << "  " << index << ": " << name_at(p_.nodes, r.node) << " columns " << r.column_tile << ", rows "
          << r.row_first << ".." << r.row_last;
    if (r.wait_count > 0) write_counters(", waits ", waits_of(r), producers_, true);
    if (r.signal_count > 0) write_counters(", signals ", signals_of(r), consumers_, false);
    if (r.pages_in_flight != record{}.pages_in_flight) text_ << ", " << int{r.pages_in_flight} << " pages in flight";
    text_ << '\n';
  }

  void write_counters(std::string_view what, std::optional<counters> list,
                      std::vector<std::set<std::uint32_t>> const& nodes, bool with_count) {
    text_ << what;
    if (!list) {
      text_ << '?';
      return;
    }
    for (std::size_t i = 0; i < list->size() && i < most_listed; ++i) {
      auto const c = (*list)[i];
      text_ << (i == 0 ? "c" : ", c") << c << " (";
      if (c >= nodes.size())
        text_ << '?';
      else {
        if (with_count) text_ << p_.counters[c];
        write_names(nodes[c], with_count ? " " : "");
      }
      text_ << ')';
    }
    if (list->size() > most_listed) text_ << " and " << list->size() - most_listed << " more";
  }

  void write_names(std::set<std::uint32_t> const& nodes, std::string_view separator) {
    std::size_t count = 0;
    for (auto node : nodes) {
      if (count++ == most_listed) {
        text_ << " and " << nodes.size() - most_listed << " more";
        return;
      }
      text_ << separator << name_at(p_.nodes, node);
      separator = " ";
    }
    if (nodes.empty()) text_ << separator << '?';
  }

  program const& p_;
  operation_table const& table_;
  std::vector<std::set<std::uint32_t>> producers_;
  std::vector<std::set<std::uint32_t>> consumers_;
  std::uint64_t shown_ = 0;
  std::ostringstream text_;
};

} // namespace

std::string disassemble(program const& p, operation_table const& table) { return disassembler(p, table).run(); }

} // namespace mk
