#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/internal/bind_step.hpp>
#include <megakernels/runtime/internal/copy.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace mk::detail {
namespace {

constexpr std::uint64_t alignment = 64;

/// Most runs of one submission.
constexpr std::int64_t most_runs = std::int64_t(1) << 20;

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

/// Checks the parts of a step one after another and collects what is wrong with any of them.
class binder {
public:
  binder(session_program const& p, step const& s, device const& machine) : p_(p), step_(s), machine_(machine) {
    result_.live.resize(p.plan().live_axes.size());
    result_.addresses = p.fixed->addresses;
  }

  bound_step run(std::span<memory_range const> hidden) {
    take_lives();
    bool const shapes_known = problems_.empty();
    find_names();
    if (shapes_known) {
      take_values();
      take_bindings();
      take_changes();
      find_overlaps();
    }
    if (problems_.empty()) check_contents(hidden);
    if (problems_.empty() && result_.steps > 1) check_last_contents(hidden);
    if (!problems_.empty()) throw submit_error("program " + quoted(p_.plan().name) + ": " + problems_);
    return std::move(result_);
  }

private:
  void problem(std::string const& text) { problems_ += (problems_.empty() ? "" : "; ") + text; }

  void take_lives() {
    for (auto const& [name, axis] : p_.live_axes) {
      auto const given = step_.lives().find(name);
      auto const limit = p_.plan().live_axes[axis].capacity;
      if (given == step_.lives().end())
        problem("live axis " + quoted(name) + " has no length");
      else if (given->second < 0 || given->second > limit)
        problem("live axis " + quoted(name) + " is " + std::to_string(given->second) + ", allowed 0 to " +
                std::to_string(limit));
      else
        result_.live[axis] = given->second;
    }
    for (auto const& [name, length] : step_.lives())
      if (!p_.live_axes.contains(name)) problem("there is no live axis " + quoted(name));
  }

  /// Every buffer has what it needs, and every name of the step is that of a buffer of the right kind.
  void find_names() {
    for (auto b : p_.brought) {
      auto const& buffer = p_.plan().buffers[b];
      if (buffer.kind == buffer_kind::step) {
        if (!step_.values().contains(buffer.name)) problem("step values " + quoted(buffer.name) + " are missing");
      } else if (!step_.bindings().contains(buffer.name)) {
        problem(std::string(name_of(buffer.kind)) + " " + quoted(buffer.name) + " is not bound");
      }
    }
    for (auto const& [name, value] : step_.values()) expect_kind(name, true);
    for (auto const& [name, value] : step_.bindings()) expect_kind(name, false);
    for (auto b : p_.fixed->missing) problem("constant " + quoted(p_.plan().buffers[b].name) + " is not set");
  }

  void expect_kind(std::string const& name, bool as_values) {
    auto const at = p_.buffers.find(name);
    if (at == p_.buffers.end())
      return problem((as_values ? "there are no step values " : "there is no input or output ") + quoted(name));
    auto const kind = p_.plan().buffers[at->second].kind;
    bool const fits = as_values ? kind == buffer_kind::step : kind == buffer_kind::input || kind == buffer_kind::output;
    if (!fits)
      problem(quoted(name) + " is of kind " + std::string(name_of(kind)) +
              (as_values ? ", not step values" : ", and cannot be bound"));
  }

  /// Calls `f(name, buffer, given)` for each of the buffers that the step gives something for.
  template <class Given, class F> void for_each(step::by_name<Given> const& given, F const& f) {
    for (auto const& [name, value] : given)
      if (auto const at = p_.buffers.find(name); at != p_.buffers.end()) f(name, at->second, value);
  }

  void take_values() {
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> offsets(p_.plan().buffers.size());
    for (auto b : p_.brought) {
      if (p_.plan().buffers[b].kind != buffer_kind::step) continue;
      offsets[b] = bytes;
      bytes += (p_.plan().buffers[b].bytes + alignment - 1) / alignment * alignment;
    }
    auto const memory = zeroed_memory(bytes);
    result_.values = memory;
    for_each(step_.values(), [&](std::string const& name, std::uint32_t b, step::elements const& given) {
      if (p_.plan().buffers[b].kind != buffer_kind::step) return;
      auto const to = view_of(p_.root(b).desc, memory.get() + offsets[b], result_.live.data());
      tensor_view from = to;
      from.type = given.type;
      if (given.rank >= 0) {
        from.rank = given.rank;
        from.extents = given.extents;
      }
      set_dense_strides(from);
      auto why = misfit(without_strides(to), without_strides(from));
      auto const count = static_cast<std::int64_t>(given.bytes.size()) / tylo::bytes_of(given.type);
      if (why.empty() && count != elements_of(to))
        why = "have " + std::to_string(count) + " elements, expected " + std::to_string(elements_of(to));
      if (!why.empty()) return problem("step values " + quoted(name) + ": " + why);
      // Only read from: a view has no read-only form.
      from.data = const_cast<std::byte*>(given.bytes.data());
      copy_elements(from, to);
      result_.addresses[b] = to.data;
    });
  }

  static tensor_view without_strides(tensor_view view) {
    set_dense_strides(view);
    return view;
  }

  void take_bindings() {
    for_each(step_.bindings(), [&](std::string const& name, std::uint32_t b, tensor_view const& given) {
      auto const kind = p_.plan().buffers[b].kind;
      if (kind != buffer_kind::input && kind != buffer_kind::output) return;
      auto why = misfit(view_of(p_.root(b).desc, nullptr, result_.live.data()), given);
      auto const place = reinterpret_cast<std::uintptr_t>(given.data);
      if (why.empty() && given.data == nullptr && elements_of(given) > 0) why = "has no memory";
      if (why.empty() && place % static_cast<std::uintptr_t>(tylo::bytes_of(given.type)) != 0)
        why = "is not aligned to its elements of " + std::to_string(tylo::bytes_of(given.type)) + " bytes";
      if (!why.empty()) return problem(std::string(name_of(kind)) + " " + quoted(name) + " " + why);
      result_.addresses[b] = given.data;
      bool const written = kind == buffer_kind::output;
      ranges_.push_back({.buffer = b, .written = written, .bytes = {given.data, span_bytes_of(given)}});
      if (written) result_.outputs.push_back(ranges_.back().bytes);
    });
  }

  /// Live elements of an int32 buffer of that kind, or none where `name` is not one (which is then a problem).
  std::optional<std::int64_t> whole_numbers(std::string const& name, buffer_kind kind) {
    auto const at = p_.buffers.find(name);
    if (at == p_.buffers.end() || p_.plan().buffers[at->second].kind != kind ||
        p_.root(at->second).desc.type != data_type::int32 || p_.root(at->second).desc.rank != 1) {
      problem(quoted(name) + " is not int32 of one axis and kind " + std::string(name_of(kind)) +
              ", as changes between runs need");
      return {};
    }
    return elements_of(view_of(p_.root(at->second).desc, nullptr, result_.live.data()));
  }

  void take_changes() {
    if (step_.runs() < 1 || step_.runs() > most_runs)
      problem("there are " + std::to_string(step_.runs()) + " runs, allowed 1 to " + std::to_string(most_runs));
    result_.steps = static_cast<std::uint32_t>(step_.runs());
    for (auto const& [into, change] : step_.changes()) {
      auto const count = whole_numbers(into, buffer_kind::step);
      auto const given = change.from.empty() ? count : whole_numbers(change.from, buffer_kind::output);
      if (!count || !given) continue;
      if (*count != *given)
        problem("step values " + quoted(into) + " have " + std::to_string(*count) + " elements, the output " +
                quoted(change.from) + " that they become has " + std::to_string(*given));
      job_feed feed;
      feed.to = p_.buffers.find(into)->second;
      feed.increment = change.by;
      feed.count = static_cast<std::uint32_t>(*count);
      if (!change.from.empty()) feed.from = p_.buffers.find(change.from)->second;
      if (auto const kept = step_.histories().find(into); kept != step_.histories().end()) {
        tensor_view expected{.type = data_type::int32, .rank = 2, .extents = {step_.runs(), *count}, .strides = {}};
        set_dense_strides(expected);
        auto const why = misfit(expected, kept->second);
        if (!why.empty()) problem("history of " + quoted(into) + " " + why);
        feed.history = kept->second;
        result_.outputs.push_back({kept->second.data, span_bytes_of(kept->second)});
      }
      result_.feeds.push_back(feed);
    }
    for (auto const& [into, history] : step_.histories())
      if (!step_.changes().contains(into)) problem("step values " + quoted(into) + " are kept, but never change");
  }

  /// The same checks on the step values as they are in the last run, where they are known: those that are advanced.
  void check_last_contents(std::span<memory_range const> hidden) {
    auto const first = result_.addresses;
    std::vector<std::vector<std::int32_t>> last;
    for (auto const& feed : result_.feeds) {
      auto const* const from = reinterpret_cast<std::int32_t const*>(first[feed.to]);
      auto& moved = last.emplace_back(from, from + feed.count);
      for (auto& element : moved)
        element = static_cast<std::int32_t>(static_cast<std::uint32_t>(element) +
                                            static_cast<std::uint32_t>(feed.increment) * (result_.steps - 1));
      result_.addresses[feed.to] = reinterpret_cast<std::byte*>(moved.data());
    }
    check_contents(hidden);
    result_.addresses = first;
  }

  /// No memory that a submission writes may be known to it under a second name.
  void find_overlaps() {
    auto const bound = ranges_.size();
    for (std::uint32_t b = 0; b < p_.plan().buffers.size(); ++b) {
      auto const& buffer = p_.plan().buffers[b];
      if (buffer.kind != buffer_kind::constant && buffer.kind != buffer_kind::state) continue;
      ranges_.push_back({.buffer = b,
                         .written = buffer.kind == buffer_kind::state,
                         .bytes = {p_.fixed->addresses[b], p_.fixed->addresses[b] == nullptr ? 0 : buffer.bytes}});
    }
    for (std::size_t i = 0; i < bound; ++i)
      for (auto j = i + 1; j < ranges_.size(); ++j)
        if ((ranges_[i].written || ranges_[j].written) && ranges_[i].bytes.overlaps(ranges_[j].bytes))
          problem(quoted(p_.plan().buffers[ranges_[i].buffer].name) + " and " +
                  quoted(p_.plan().buffers[ranges_[j].buffer].name) + " lie in the same memory, which is written");
  }

  bool is_visible(std::uint32_t buffer, std::span<memory_range const> hidden) const {
    auto const kind = p_.plan().buffers[buffer].kind;
    if (kind != buffer_kind::step && !machine_.host_reads(result_.addresses[buffer])) return false;
    if (kind != buffer_kind::input) return kind == buffer_kind::constant || kind == buffer_kind::step;
    auto const own = std::find_if(ranges_.begin(), ranges_.end(), [&](auto const& r) { return r.buffer == buffer; });
    return std::none_of(hidden.begin(), hidden.end(), [&](auto const& h) { return h.overlaps(own->bytes); });
  }

  void check_contents(std::span<memory_range const> hidden) {
    auto visible = result_.addresses;
    for (std::uint32_t b = 0; b < visible.size(); ++b)
      if (visible[b] != nullptr && !is_visible(b, hidden)) visible[b] = nullptr;
    std::vector<tensor_view> operands;
    for (auto n : p_.checked_nodes) {
      auto const& node = p_.plan().nodes[n];
      operands.clear();
      for (auto tensor : node.operands)
        operands.push_back(view_of_tensor(p_.plan(), tensor, visible.data(), result_.live.data()));
      try {
        p_.loaded->operations[n]->check(node.arguments.data(), operands);
      } catch (submit_error const& e) {
        problem("node " + quoted(node.name) + " (" + std::string(p_.loaded->operations[n]->name) + "): " + e.what());
      }
    }
  }

  struct named_range {
    std::uint32_t buffer;
    bool written;
    memory_range bytes;
  };

  session_program const& p_;
  step const& step_;
  device const& machine_;
  bound_step result_;
  std::vector<named_range> ranges_;
  std::string problems_;
};

} // namespace

bound_step bind_step(session_program const& p, step const& s, std::span<memory_range const> hidden,
                     device const& machine) {
  return binder(p, s, machine).run(hidden);
}

} // namespace mk::detail
