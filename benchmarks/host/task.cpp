#include <megakernels/ops/operation_list.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>

#include "host/benchmarks.hpp"
#include "kit/suite.hpp"
#include "kit/timing.hpp"

#include <string>

namespace mk::bench {
namespace {

/// y[r, c] = x[r, c] + 1 for int32: a task with next to no work, whose results tell that it ran.
struct count_up {
  static constexpr std::string_view name = "count_up";
  static constexpr std::uint32_t revision = 1;

  struct arguments {
    std::int32_t reserved = 0;
  };

  enum : int { x, y };
  static constexpr std::array slots{input("x"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(x, 2);
    q.expect_type(x, {data_type::int32});
    return {q.make(data_type::int32, {{x, 0}, {x, 1}})};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) {
    return {.rows = o[x].extents[0], .columns = o[x].extents[1].capacity};
  }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
    r.write(y).along(0, t.row_begin, t.row_end).along(1, t.column_begin, t.column_end);
  }
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const& t) {
    auto const elements = static_cast<double>((t.row_end - t.row_begin) * (t.column_end - t.column_begin));
    return {.bytes = 8 * elements, .operations = elements};
  }
  template <class> static void reference(arguments const&, std::span<tensor_view const> o, task const& t) {
    for (auto r = t.row_begin; r < t.row_end; ++r)
      for (auto c = t.column_begin; c < t.column_end; ++c) {
        std::int32_t number;
        std::memcpy(&number, o[x].at(r, c), sizeof number);
        ++number;
        std::memcpy(o[y].at(r, c), &number, sizeof number);
      }
  }
};

constexpr auto operations = operation_list<count_up>::table;

/// A chain of nodes over one row of as many numbers as there are workers, one for each task.
program make_chain(std::int64_t nodes, std::int64_t workers) {
  graph g("chain");
  auto x = g.input("x", data_type::int32, {{"row", 1}, {"worker", workers}});
  for (std::int64_t i = 0; i < nodes; ++i) x = g.add<count_up>("count_up." + std::to_string(i), {}, {x})[0];
  g.output("y", x);
  // Tasks cost nothing: as many are made as can be.
  return compile(g, {.workers = workers, .task_seconds = 1e-18}, operations);
}

/// Microseconds of submissions of a chain, over the number of its nodes.
figure measure(std::int64_t nodes, std::int64_t workers, std::size_t runs) {
  auto chain = make_chain(nodes, workers);
  expect(chain.records.size() == static_cast<std::size_t>(nodes * workers),
         "host/task: " + std::to_string(chain.records.size()) + " records for " + std::to_string(nodes) +
             " nodes and " + std::to_string(workers) + " workers");
  session s(host_device{}, operations);
  auto const id = s.load(std::move(chain));
  tensor x(data_type::int32, {1, workers}), y(data_type::int32, {1, workers});
  step const values = step().bind("x", x.view()).bind("y", y.view());
  auto seconds = time_runs(runs, [&] { s.submit(id, values).wait(); });
  for (auto number : y.span<std::int32_t>())
    expect(number == nodes, "host/task: a count is " + std::to_string(number) + ", not " + std::to_string(nodes));
  for (auto& t : seconds) t *= 1e6 / static_cast<double>(nodes);
  return {.unit = "us", .measured = summarize(seconds), .verdict = "every task counted"};
}

} // namespace

figure task_empty() { return measure(4096, 1, 200); }

figure submit_to_done_empty() { return measure(1, cores(), 5000); }

} // namespace mk::bench
