/// Each wait, arrival, fence and barrier of the kernel and the handlers is there for a reason: without it some schedule
/// faults or gives other numbers. Those for which that is not so are listed here with their reasons.

#include <megakernels/kernels/full.hpp>
#include <megakernels/ops/error.hpp>

#include "../runtime/graph_runs.hpp"
#include "../runtime/layer_program.hpp"
#include "../runtime/row_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace mk::test {
namespace {

using tylo::emulator::used_site;

/// A run on a device; nothing where it ended in an error.
using scenario = std::function<std::vector<std::byte>(emulator_device)>;

struct exception_site {
  char const* file;
  char const* line; ///< a part of it, which may go on in the next
  char const* reason;
};

constexpr exception_site may_go_unnoticed[] = {
    {"runtime/device/control.hpp", "load_acquire(&a_.state->steps_done.value);",
     "what earlier kernels wrote is ordered by the start of this one"},
    {"runtime/device/control.hpp", "load_acquire(program.epoch)",
     "ready_steps or the start of the kernel orders the epoch"},
    {"runtime/device/control.hpp", "store_release_system(&a_.mail->exited",
     "the host reads it, whose accesses are not checked"},
    {"runtime/device/control.hpp", "load_acquire_system(&a_.mail->doorbell.value)",
     "the host writes it, whose accesses are not checked"},
    {"runtime/device/control.hpp", "load_acquire_system(&a_.mail->exit_request.value)",
     "the host writes it, whose accesses are not checked"},
    {"runtime/device/ring.hpp", "tylo::wait(&barriers_->full[this_lap",
     "it bounds the bytes in flight; at the end consumers have waited for all copies"},
    {"runtime/device/control.hpp", "// what lane 0 acquired is visible to all\n    if (begins == 0)",
     "the host writes what it orders, whose accesses are not checked; that nobody reads the slot of eight submissions "
     "ago any more has come to all lanes by the queue of four tasks, from the last worker's end of a step since"},
    {"runtime/device/consumer.hpp", "store_release(t.program->epoch",
     "ready_steps and steps_done follow, and order it"},
    {"runtime/device/consumer.hpp", "store_release_system(&a.mail->completed",
     "the host reads it, whose accesses are not checked"},
};

struct source_lines {
  std::string first, next;
};

source_lines lines_of(used_site const& s) {
  std::ifstream file(s.file);
  source_lines lines;
  for (int i = 0; i < s.line; ++i) std::getline(file, lines.first);
  std::getline(file, lines.next);
  return lines;
}

bool is_excepted(used_site const& s) {
  auto const [first, next] = lines_of(s);
  auto const text = first + '\n' + next;
  return std::any_of(std::begin(may_go_unnoticed), std::end(may_go_unnoticed), [&](exception_site const& e) {
    return s.file.ends_with(e.file) && text.find(e.line) < first.size();
  });
}

emulator_device plain(std::uint32_t workers) {
  emulator_device d{.kernel = &kernels::full(), .workers = workers};
  d.how.batched = true;
  return d;
}

/// Products of which each reads all of the one before, in submissions of so many runs.
std::vector<std::byte> run_layers(layer_program const& layer, int submissions, std::int64_t runs, emulator_device d) {
  d.workers = 2;
  d.mode = submissions > 1 ? run_mode::resident : run_mode::launch;
  d.idle_after = std::chrono::milliseconds(5);
  graph g("layers");
  auto const live = g.live("rows", layer.rows);
  axis const w("width", layer.width), inner("inner", layer.inner);
  auto const x = g.input("x", data_type::fp32, {live, w});
  auto const a = build::linear(g, "up", x, g.constant("up", layer.type, {inner, w}));
  g.output("y", build::linear(g, "down", a, g.constant("down", layer.type, {w, inner}), {.residual = x}));
  session s(d, full_operations);
  layer.set_constants(s);
  auto const p = s.load(compile(
      g, {.workers = 2, .bytes_per_second = 1, .operations_per_second = 1e9, .task_seconds = 1e-9}, full_operations));
  std::vector<std::byte> all;
  auto const in = whole_numbers(data_type::fp32, {layer.rows, layer.width}, 1);
  tensor const y(data_type::fp32, {layer.rows, layer.width});
  for (int i = 0; i < submissions; ++i) {
    s.submit(p, step().live("rows", layer.rows).bind("x", in->view()).bind("y", y.view()).repeat(runs)).wait();
    auto const bytes = bytes_of(y);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

/// Weights that go round the ring more than once.
std::vector<std::byte> run_wide_layers(emulator_device d) {
  return run_layers({.rows = 2, .width = 1000, .inner = 250}, 1, 1, std::move(d));
}
/// More submissions than the ring of them has slots, of more runs than one.
std::vector<std::byte> run_many_submissions(emulator_device d) {
  return run_layers({.rows = 2, .width = 40, .inner = 24}, 20, 2, std::move(d));
}

/// Steps that feed each other: next = arg-max of row `token` of a table.
std::vector<std::byte> run_walk(std::int64_t workers, double task_seconds, emulator_device d) {
  constexpr std::int64_t states = 7, runs = 4;
  d.workers = static_cast<std::uint32_t>(workers);
  d.mode = run_mode::resident;
  d.idle_after = std::chrono::milliseconds(5);
  graph g("walk");
  auto const rows = g.live("rows", 4);
  auto const table = g.constant("table", data_type::fp32, {{"states", states}, {"next", states}});
  auto const x = build::embedding(g, "look", table, g.step("token", data_type::int32, {rows}));
  g.output("next", build::sample(g, "choose", x,
                                 {.temperature = g.step("temperature", data_type::fp32, {rows}),
                                  .top_k = g.step("top_k", data_type::int32, {rows}),
                                  .top_p = g.step("top_p", data_type::fp32, {rows}),
                                  .seed = g.step("seed", data_type::int32, {rows}),
                                  .counter = g.step("counter", data_type::int32, {rows})}));
  auto numbers = std::make_shared<tensor>(data_type::fp32, std::initializer_list<std::int64_t>{states, states});
  for (std::int64_t s = 0; s < states; ++s)
    numbers->span<float>()[static_cast<std::size_t>(s * states + (3 * s + 1) % states)] = 1;
  session s(d, full_operations);
  s.set_constant("table", numbers);
  auto const p = s.load(compile(
      g, {.workers = workers, .bytes_per_second = 1, .operations_per_second = 1e9, .task_seconds = task_seconds},
      full_operations));
  tensor tokens(data_type::int32, {runs, 4}), next(data_type::int32, {4});
  for (int i = 0; i < 2; ++i)
    s.submit(p, step()
                    .live("rows", 4)
                    .values("token", {0, 2, 1, 3})
                    .values("temperature", {0.0f, 0.9f, 0.0f, 0.7f})
                    .values("top_k", {0, 3, 2, 0})
                    .values("top_p", {1.0f, 0.9f, 0.8f, 1.0f})
                    .values("seed", {0, 0, 1, 2})
                    .values("counter", {5, 9, 1, 1})
                    .bind("next", next.view())
                    .repeat(runs)
                    .carry("next", "token")
                    .advance("counter", -2)
                    .keep("token", tokens.view()))
        .wait();
  return bytes_of(tokens);
}

std::vector<std::byte> run_walk_in_small_tasks(emulator_device d) { return run_walk(2, 1e-9, std::move(d)); }
std::vector<std::byte> run_walk_in_one_task(emulator_device d) { return run_walk(1, 1e9, std::move(d)); }

constexpr std::int64_t cache_rows = 6, cache_width = 16;

/// One of two programs over one cache: it writes rows of it, or reads all of them. No task waits for another.
program make_cache_program(bool writes, std::int64_t workers) {
  graph g(writes ? "write" : "read");
  axis const rows("rows", cache_rows), one("sequences", 1);
  std::vector<axis> const axes{{"blocks", 1}, {"slots", cache_rows}, {"heads", 2}, {"size", cache_width / 2}};
  build::paged_kv const cache{.k = g.state("k", data_type::fp32, axes),
                              .v = g.state("v", data_type::fp32, axes),
                              .block_table = g.step("block_table", data_type::int32, {one, {"blocks", 1}})};
  build::batch_rows const which{.sequence = g.step("sequence", data_type::int32, {rows}),
                                .position = g.step("position", data_type::int32, {rows})};
  auto const x = g.input("x", data_type::fp32, {rows, {"width", cache_width}});
  if (writes)
    build::kv_append(g, "append", x, x, cache, which);
  else
    g.output("y", build::attention(g, "attend", x, cache, which, g.step("length", data_type::int32, {one})).o);
  return compile(g, {.workers = workers, .bytes_per_second = 1, .operations_per_second = 1e9, .task_seconds = 1e-9},
                 full_operations);
}

/// Two programs in turn: what workers write in a submission others read in the next, or overwrite in the one after it.
std::vector<std::byte> run_programs_in_turn(emulator_device d) {
  d.workers = 3;
  d.mode = run_mode::resident;
  d.idle_after = std::chrono::milliseconds(5);
  session s(d, full_operations);
  auto const write = s.load(make_cache_program(true, 3)), read = s.load(make_cache_program(false, 3));
  auto const x = whole_numbers(data_type::fp32, {cache_rows, cache_width}, 1);
  auto const y = whole_numbers(data_type::fp32, {cache_rows, cache_width}, 2);
  auto const rows =
      step().values("sequence", {0, 0, 0, 0, 0, 0}).values("position", {0, 1, 2, 3, 4, 5}).values("block_table", {0});
  std::vector<tensor> results;
  submission last;
  for (int i = 0; i < 3; ++i) {
    auto in = rows, out = rows;
    s.submit(write, in.bind("x", (i % 2 == 0 ? x : y)->view()));
    auto const& result =
        results.emplace_back(data_type::fp32, std::initializer_list<std::int64_t>{cache_rows, cache_width});
    last = s.submit(read, out.values("length", {6}).bind("x", x->view()).bind("y", result.view()));
  }
  last.wait();
  std::vector<std::byte> all;
  for (auto const& r : results) all.insert(all.end(), r.data(), r.data() + r.size_bytes());
  return all;
}

/// Rows of so many columns in more rounds than the ring has pages, before and after weights.
std::vector<std::byte> run_rows(std::int64_t width, std::int64_t rows, emulator_device d) {
  row_graph g({.width = width, .rows = rows});
  add_products_between(g, data_type::bf16, width);
  d.workers = 1;
  session s(d, full_operations);
  auto const results = run(s, g, 1, [](tensor_view const&, std::vector<std::byte> const&) {}, 2);
  std::vector<std::byte> all;
  for (auto const& [name, bytes] : results) all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}

std::vector<std::byte> run_narrow_rows(emulator_device d) { return run_rows(72, 110, std::move(d)); }
std::vector<std::byte> run_wide_rows(emulator_device d) { return run_rows(4104, 9, std::move(d)); }

/// A head with more pairs than the table of frequencies has room for.
std::vector<std::byte> run_large_heads(emulator_device d) {
  constexpr std::int64_t rows = 2, size = 1040;
  d.workers = 1;
  graph g("large heads");
  axis const r("rows", rows);
  g.output("y", build::rope(g, "turn", g.input("x", data_type::fp32, {r, {"size", size}}),
                            g.step("position", data_type::int32, {r}), {.head_dim = size}));
  session s(d, full_operations);
  auto const p = s.load(compile(g, {.workers = 1}, full_operations));
  auto const x = whole_numbers(data_type::fp32, {rows, size}, 1);
  tensor const y(data_type::fp32, {rows, size});
  s.submit(p, step().bind("x", x->view()).bind("y", y.view()).values("position", {3, 70})).wait();
  return bytes_of(y);
}

/// A task that appends more rows to a cache than it has threads.
std::vector<std::byte> run_many_appended_rows(emulator_device d) {
  constexpr std::int64_t rows = 600, size = 4;
  d.workers = 1;
  graph g("many rows");
  axis const r("rows", rows), one("sequences", 1);
  std::vector<axis> const axes{{"blocks", 1}, {"slots", rows}, {"heads", 1}, {"size", size}};
  build::paged_kv const cache{.k = g.state("k", data_type::fp32, axes),
                              .v = g.state("v", data_type::fp32, axes),
                              .block_table = g.step("block_table", data_type::int32, {one, {"blocks", 1}})};
  auto const x = g.input("x", data_type::fp32, {r, {"size", size}});
  build::kv_append(
      g, "append", x, x, cache,
      {.sequence = g.step("sequence", data_type::int32, {r}), .position = g.step("position", data_type::int32, {r})});
  session s(d, full_operations);
  auto const p = s.load(compile(g, {.workers = 1}, full_operations));
  auto const in = whole_numbers(data_type::fp32, {rows, size}, 1);
  std::vector<std::int32_t> positions(rows);
  std::iota(positions.rbegin(), positions.rend(), 0);
  s.submit(p, step()
                  .bind("x", in->view())
                  .values("sequence", std::vector<std::int32_t>(rows))
                  .values("position", positions)
                  .values("block_table", {0}))
      .wait();
  auto const k = s.state("k");
  return {k.data, k.data + rows * size * 4};
}

/// A graph of many operations.
std::vector<std::byte> run_graph(std::uint64_t seed, emulator_device d) {
  kit::random_graph g(seed);
  d.workers = 3;
  session s(d, full_operations);
  auto const results = run(s, g, 3, [](tensor_view const& state, std::vector<std::byte> const& bytes) {
    std::memcpy(state.data, bytes.data(), bytes.size());
  });
  std::vector<std::byte> all;
  for (auto const& [name, bytes] : results) all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}

TEST(emulator_sites, nothing_that_orders_can_be_left_out_unnoticed) {
  std::vector<scenario> scenarios{run_walk_in_small_tasks, run_walk_in_one_task, run_programs_in_turn,
                                  run_many_submissions,    run_wide_layers,      run_narrow_rows,
                                  run_wide_rows,           run_large_heads,      run_many_appended_rows};
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    scenarios.push_back([seed](emulator_device d) { return run_graph(seed, std::move(d)); });

  struct suspect {
    used_site site;
    std::vector<std::size_t> scenarios;
  };
  std::vector<suspect> suspects;
  std::vector<std::vector<std::byte>> right;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    auto d = plain(2);
    d.how.list_sites = true;
    d.how.on_end = [&](tylo::emulator::statistics const& all) {
      for (auto const& site : all.sites) {
        auto found = std::find_if(suspects.begin(), suspects.end(), [&](suspect const& s) {
          return s.site.line == site.line && s.site.step == site.step && s.site.file == site.file;
        });
        if (found == suspects.end()) found = suspects.insert(found, {site, {}});
        if (found->scenarios.empty() || found->scenarios.back() != i) found->scenarios.push_back(i);
      }
    };
    right.push_back(scenarios[i](d));
  }
  EXPECT_GT(suspects.size(), 40u);

  auto const outcome = [&](scenario const& of, emulator_device const& d) -> std::vector<std::byte> {
    try {
      return of(d);
    } catch (device_error const&) {
      return {};
    }
  };
  std::size_t noticed_count = 0;
  for (auto const& s : suspects) {
    if (is_excepted(s.site)) continue;
    bool noticed = false;
    for (std::uint64_t seed = 0; seed < 6 && !noticed; ++seed)
      for (std::size_t k = 0; k < std::min<std::size_t>(s.scenarios.size(), 4) && !noticed; ++k) {
        auto d = plain(2);
        d.how.seed = seed;
        d.how.deleted_site = {s.site.file, s.site.line, s.site.step};
        d.stuck_after = std::chrono::milliseconds(20);
        noticed = outcome(scenarios[s.scenarios[k]], d) != right[s.scenarios[k]];
      }
    if (noticed) ++noticed_count;
    EXPECT_TRUE(noticed) << s.site.kind << " (" << s.site.what << ") at " << s.site.file << ":" << s.site.line << "\n"
                         << lines_of(s.site).first;
  }
  std::printf("%zu sites, %zu of them noticed when left out\n", suspects.size(), noticed_count);
}

} // namespace
} // namespace mk::test
