/// Handlers with a fault, run by sessions: what is found, and what the report calls it.

#include <megakernels/ops/handler.hpp>
#include <megakernels/runtime/device/worker.hpp>
#include <megakernels/runtime/kernel_instance.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>

#include <gtest/gtest.h>

#include <string>

namespace mk::test {
namespace {

enum class misdeed : std::int32_t { none, reads_next_row, writes_next_row_too, reads_fresh_scratch, reads_row_before };

/// y[t, i] = x[t, i], fp32 [rows, width].
struct copy_rows {
  static constexpr std::string_view name = "copy_rows";
  static constexpr std::uint32_t revision = 1;
  struct arguments {
    misdeed wrong = misdeed::none;
  };
  enum : int { x, y };
  static constexpr std::array slots{input("x"), output("y")};

  static std::vector<output_shape> infer(arguments const&, shape_query const& q) {
    q.expect_rank(x, 2);
    q.expect_type(x, {data_type::fp32});
    return {q.make(data_type::fp32, {{x, 0}, {x, 1}})};
  }
  static work_shape work(arguments const&, std::span<tensor_desc const> o) { return {.rows = o[x].extents[0]}; }
  static void regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
    r.read(x).along(0, t.row_begin, t.row_end);
    r.write(y).along(0, t.row_begin, t.row_end);
  }
  static cost cost_of(arguments const&, std::span<tensor_desc const>, task const& t) {
    return {.bytes = static_cast<double>(t.row_end - t.row_begin), .operations = 1};
  }
  template <class Accumulate> static void reference(arguments const&, std::span<tensor_view const>, task const&) {}
};

} // namespace
} // namespace mk::test

template <> struct mk::handler<mk::test::copy_rows> {
  using op = mk::test::copy_rows;
  template <class Context> static TYLO_FN void compute(Context& context, op::arguments const& a, task const& t) {
    using enum mk::test::misdeed;
    auto const &x = context.operand(op::x), &y = context.operand(op::y);
    auto const* const scratch = context.template scratch<float>();
    for (auto row = t.row_begin; row < t.row_end; ++row)
      for (std::int64_t i = context.thread(); i < x.extent(1); i += Context::threads) {
        auto value = *reinterpret_cast<float const*>(x.at(row + (a.wrong == reads_next_row ? 1 : 0), i));
        if (a.wrong == reads_row_before && row > 0) value += *reinterpret_cast<float const*>(x.at(row - 1, i));
        if (a.wrong == reads_fresh_scratch) value += scratch[i];
        *reinterpret_cast<float*>(y.at(row, i)) = value;
        if (a.wrong == writes_next_row_too) *reinterpret_cast<float*>(y.at(row + 1, i)) = value;
      }
  }
};

namespace mk::test {
namespace {

using copies = operation_list<copy_rows>;

/// Copies the rows that are live, of 8, to the workspace and on to the output. Returns the report.
std::string run_copies(misdeed first, misdeed second, std::int64_t live, std::uint32_t workers) {
  kernel_instance const kernel{.name = "copies",
                               .operations = copies::table,
                               .threads = device::worker_threads<1>,
                               .shared_bytes = sizeof(device::worker_memory),
                               .cuda = nullptr,
                               .emulated = &device::run_worker<copies, 1>};
  constexpr std::int64_t width = 40;
  graph g("copies");
  auto const rows = g.live("rows", 8);
  auto const x = g.input("x", data_type::fp32, {rows, axis("width", width)});
  auto const h = g.add<copy_rows>("first", {.wrong = first}, {x})[0];
  g.output("y", g.add<copy_rows>("second", {.wrong = second}, {h})[0]);

  emulator_device d{.kernel = &kernel, .workers = workers};
  session s(d, copies::table);
  auto const p =
      s.load(compile(g, {.workers = workers, .bytes_per_second = 1, .operations_per_second = 1e9, .task_seconds = 1e-9},
                     copies::table));
  tensor const from(data_type::fp32, {live, width});
  tensor to(data_type::fp32, {live, width});
  try {
    s.submit(p, step().live("rows", live).bind("x", from.view()).bind("y", to.view())).wait();
    s.submit(p, step().live("rows", live).bind("x", from.view()).bind("y", to.view())).wait();
  } catch (device_error const& e) {
    return e.what();
  }
  return {};
}

void expect_report(std::string const& report, std::initializer_list<char const*> words) {
  for (auto const* const word : words)
    EXPECT_NE(report.find(word), std::string::npos) << word << " is not in: " << report;
}

TEST(emulator_handler_faults, none) { EXPECT_EQ(run_copies(misdeed::none, misdeed::none, 5, 2), ""); }

TEST(emulator_handler_faults, a_row_of_the_workspace_that_is_not_live) {
  expect_report(run_copies(misdeed::none, misdeed::reads_next_row, 5, 1),
                {"read of unwritten memory", "of 'first.y'", "handler_faults_test.cpp",
                 "consumers at node 'second' (copy_rows): of CTAs 0"});
}

TEST(emulator_handler_faults, a_row_behind_an_input) {
  expect_report(run_copies(misdeed::reads_next_row, misdeed::none, 5, 1),
                {"out of bounds", "past the end of global memory 'x'", "node 'first'"});
}

TEST(emulator_handler_faults, a_row_behind_an_output) {
  expect_report(run_copies(misdeed::none, misdeed::writes_next_row_too, 8, 1),
                {"out of bounds", "a write", "past the end of global memory 'y'", "node 'second'"});
}

TEST(emulator_handler_faults, a_row_of_another_task) {
  expect_report(run_copies(misdeed::writes_next_row_too, misdeed::none, 5, 2),
                {"unannounced access: a write", "of 'first.y'", "say that this task writes [0 to 1, 0 to 40]",
                 "handler_faults_test.cpp"});
}

/// Nothing is wrong with the result: the row is there. But nothing makes the task wait for it either.
TEST(emulator_handler_faults, a_row_that_the_regions_do_not_name) {
  expect_report(run_copies(misdeed::reads_row_before, misdeed::none, 8, 2),
                {"unannounced access: a read", "byte 124 of global memory 'x'", "in operand 'x', element [0, 31]",
                 "the regions of 'copy_rows' say that this task reads [1 to 2, 0 to 40]", "node 'first'"});
}

TEST(emulator_handler_faults, scratch_that_nothing_has_written) {
  expect_report(run_copies(misdeed::none, misdeed::reads_fresh_scratch, 8, 2),
                {"read of unwritten memory", "shared memory of CTA", "node 'second'"});
}

} // namespace
} // namespace mk::test
