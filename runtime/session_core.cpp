#include <megakernels/runtime/internal/bind_step.hpp>
#include <megakernels/runtime/internal/session_core.hpp>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

namespace mk::detail {
namespace {

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

using states_by_name = std::map<std::string, session_state, std::less<>>;

/// The states that the program has and the session does not. Throws for those that the session has in another shape.
states_by_name new_states(session_core const& core, session_program const& p) {
  states_by_name result;
  for (auto const& [name, b] : p.buffers) {
    auto const& buffer = p.plan().buffers[b];
    if (buffer.kind != buffer_kind::state) continue;
    auto const view = at_capacity(p.root(b).desc);
    auto const known = core.states.find(name);
    if (known == core.states.end()) {
      result.emplace(name, session_state{.view = view, .bytes = buffer.bytes, .memory = nullptr});
      continue;
    }
    auto const why = misfit(known->second.view, view);
    if (!why.empty() || known->second.bytes != buffer.bytes)
      throw program_error("program '" + p.plan().name + "', state '" + std::string(name) + "' " +
                          (why.empty() ? "has " + std::to_string(buffer.bytes) + " bytes, expected " +
                                             std::to_string(known->second.bytes)
                                       : why) +
                          " as in a program that is loaded");
  }
  return result;
}

std::string constant_misfit(session_program const& p, std::uint32_t buffer, tensor const& value) {
  return misfit(at_capacity(p.root(buffer).desc), value.view());
}

void expect_constants_fit(session_core const& core, session_program const& p) {
  for (auto const& [name, b] : p.buffers) {
    auto const known = core.constants.find(name);
    if (p.plan().buffers[b].kind != buffer_kind::constant || known == core.constants.end()) continue;
    auto const why = constant_misfit(p, b, *known->second.value);
    if (!why.empty())
      throw program_error("program '" + p.plan().name + "': constant '" + std::string(name) + "', as it was set, " +
                          why);
  }
}

/// Allocates workspace and the given states.
void allocate(device& machine, session_program& p, states_by_name& states) {
  std::string_view what = "states";
  std::uint64_t bytes = 0;
  try {
    for (auto& [name, state] : states) {
      what = name, bytes = state.bytes;
      state.memory = machine.allocate(bytes);
      state.view.data = state.memory.get();
    }
    for (std::uint32_t b = 0; b < p.plan().buffers.size(); ++b) {
      auto const& buffer = p.plan().buffers[b];
      if (buffer.kind != buffer_kind::workspace) continue;
      what = buffer.name, bytes = buffer.bytes;
      p.workspace.emplace(b, machine.allocate(bytes));
    }
  } catch (std::bad_alloc const&) {
    throw device_error("program '" + p.plan().name + "': no memory for buffer '" + std::string(what) + "' of " +
                       std::to_string(bytes) + " bytes");
  }
}

std::shared_ptr<fixed_buffers const> collect_fixed(session_core const& core, session_program const& p) {
  auto result = std::make_shared<fixed_buffers>();
  auto const& buffers = p.plan().buffers;
  result->addresses.resize(buffers.size());
  for (std::uint32_t b = 0; b < buffers.size(); ++b) {
    std::shared_ptr<std::byte const> memory;
    if (buffers[b].kind == buffer_kind::workspace) {
      memory = p.workspace.at(b);
    } else if (buffers[b].kind == buffer_kind::state) {
      memory = core.states.find(buffers[b].name)->second.memory;
    } else if (buffers[b].kind == buffer_kind::constant) {
      auto const known = core.constants.find(buffers[b].name);
      if (known == core.constants.end())
        result->missing.push_back(b);
      else
        memory = known->second.memory;
    }
    if (memory == nullptr) continue;
    // Buffers have one type of address; `verify` has shown that constants are not written.
    result->addresses[b] = const_cast<std::byte*>(memory.get());
    result->owners.push_back(std::move(memory));
  }
  return result;
}

} // namespace

session_core::session_core(device_choice const& choice, operation_table table)
    : serial(next_serial()), operations(table), machine(make_device(choice)) {}

program_id session_core::load(program&& source) {
  auto p = analyse(std::move(source), operations);
  std::lock_guard const lock(mutex);
  auto added = new_states(*this, *p);
  expect_constants_fit(*this, *p);
  allocate(*machine, *p, added);
  programs.reserve(programs.size() + 1);
  p->number = machine->load(p->loaded);
  states.merge(added);
  programs.push_back(std::move(p));
  return {.session = serial, .index = static_cast<std::uint32_t>(programs.size() - 1)};
}

void session_core::set_constant(std::string_view name, std::shared_ptr<tensor const> value) {
  if (value == nullptr) throw submit_error("constant '" + std::string(name) + "' is null");
  std::lock_guard const lock(mutex);
  std::vector<session_program*> concerned;
  for (auto const& p : programs) {
    auto const at = p->buffers.find(name);
    if (at == p->buffers.end() || p->plan().buffers[at->second].kind != buffer_kind::constant) continue;
    auto const why = constant_misfit(*p, at->second, *value);
    if (!why.empty())
      throw submit_error("constant '" + std::string(name) + "' " + why + " (program '" + p->plan().name + "')");
    concerned.push_back(p.get());
  }
  auto memory = machine->place(value);
  constants.insert_or_assign(std::string(name), session_constant{std::move(value), std::move(memory)});
  for (auto* p : concerned) p->fixed = nullptr;
}

session_program& session_core::find(program_id id) {
  if (id.session != serial || id.index >= programs.size())
    throw submit_error("program " + std::to_string(id.index) + " of session " + std::to_string(id.session) +
                       " was not loaded by this session (" + std::to_string(serial) + ", " +
                       std::to_string(programs.size()) + " programs)");
  return *programs[id.index];
}

submission session_core::submit(program_id id, step const& s) {
  std::lock_guard const lock(mutex);
  auto& p = find(id);
  auto const failure = machine->failure();
  if (!failure.empty()) throw device_error("the session has failed, reset it first: " + failure);
  if (p.fixed == nullptr) p.fixed = collect_fixed(*this, p);

  std::erase_if(in_flight, [](unfinished const& u) { return u.finished->state() != submission_state::pending; });
  std::vector<memory_range> hidden;
  for (auto const& u : in_flight) hidden.insert(hidden.end(), u.outputs.begin(), u.outputs.end());
  for (auto const& [name, state] : states) hidden.push_back({state.memory.get(), state.bytes});

  auto bound = bind_step(p, s, hidden, *machine);
  auto const finished = std::make_shared<completion>();
  in_flight.reserve(in_flight.size() + 1);
  machine->submit(std::make_unique<job>(job{.program = p.number,
                                            .live = std::move(bound.live),
                                            .addresses = std::move(bound.addresses),
                                            .memory = p.fixed,
                                            .values = std::move(bound.values),
                                            .steps = bound.steps,
                                            .feeds = std::move(bound.feeds),
                                            .finished = finished}));
  in_flight.push_back({.finished = finished, .outputs = std::move(bound.outputs)});
  return submission(finished);
}

std::unique_ptr<job> session_core::make_job(program_id id, step const& s) {
  std::lock_guard const lock(mutex);
  auto& p = find(id);
  if (p.fixed == nullptr) p.fixed = collect_fixed(*this, p);
  auto bound = bind_step(p, s, {}, *machine);
  return std::make_unique<job>(job{.program = p.number,
                                   .live = std::move(bound.live),
                                   .addresses = std::move(bound.addresses),
                                   .memory = p.fixed,
                                   .values = std::move(bound.values),
                                   .steps = bound.steps,
                                   .feeds = std::move(bound.feeds),
                                   .finished = nullptr});
}

void session_core::reset() {
  std::lock_guard const lock(mutex);
  machine->reset();
  for (auto const& [name, state] : states) machine->set_to_zero(state.memory.get(), state.bytes);
}

} // namespace mk::detail
