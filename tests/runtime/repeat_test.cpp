#include <megakernels/ops/all.hpp>
#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <gtest/gtest.h>

#include <numeric>

namespace mk {
namespace {

/// next = arg-max of row `token` of a table: a machine that goes from state to state.
program make_walk(std::int64_t states) {
  graph g("walk");
  auto const rows = g.live("rows", 4);
  auto const table = g.constant("table", data_type::fp32, {{"states", states}, {"next", states}});
  auto const x = build::embedding(g, "look", table, g.step("token", data_type::int32, {rows}));
  auto const next = build::sample(g, "choose", x,
                                  {.temperature = g.step("temperature", data_type::fp32, {rows}),
                                   .top_k = g.step("top_k", data_type::int32, {rows}),
                                   .top_p = g.step("top_p", data_type::fp32, {rows}),
                                   .seed = g.step("seed", data_type::int32, {rows}),
                                   .counter = g.step("counter", data_type::int32, {rows})});
  g.output("next", next);
  return compile(g, {.workers = 2}, full_operations);
}

constexpr std::int64_t states = 7;

/// From state s to 3 s + 1 modulo 7.
std::shared_ptr<tensor> make_table() {
  auto table = std::make_shared<tensor>(data_type::fp32, std::initializer_list<std::int64_t>{states, states});
  for (std::int64_t s = 0; s < states; ++s)
    table->span<float>()[static_cast<std::size_t>(s * states + (3 * s + 1) % states)] = 1;
  return table;
}

class repeat : public testing::Test {
protected:
  repeat() : next(data_type::int32, {2}) {
    s.set_constant("table", make_table());
    p = s.load(make_walk(states));
  }

  step start() {
    return step()
        .live("rows", 2)
        .values("token", {0, 2})
        .values("temperature", {0.0f, 0.0f})
        .values("top_k", {0, 0})
        .values("top_p", {1.0f, 1.0f})
        .values("seed", {0, 0})
        .values("counter", {5, 9})
        .bind("next", next.view());
  }

  session s{host_device{}, full_operations};
  program_id p;
  tensor next;
};

TEST_F(repeat, carries_outputs_and_advances_values) {
  constexpr std::int64_t runs = 50;
  tensor tokens(data_type::int32, {runs, 2}), counters(data_type::int32, {runs, 2});
  auto const before = s.epoch(p);
  s.submit(p, start()
                  .repeat(runs)
                  .carry("next", "token")
                  .advance("counter", -2)
                  .keep("token", tokens.view())
                  .keep("counter", counters.view()))
      .wait();
  std::int32_t a = 0, b = 2;
  for (std::size_t i = 0; i < runs; ++i) {
    a = (3 * a + 1) % 7;
    b = (3 * b + 1) % 7;
    EXPECT_EQ(tokens.span<std::int32_t>()[2 * i], a) << i;
    EXPECT_EQ(tokens.span<std::int32_t>()[2 * i + 1], b) << i;
    EXPECT_EQ(counters.span<std::int32_t>()[2 * i], 5 - 2 * static_cast<int>(i + 1)) << i;
  }
  EXPECT_EQ(next.span<std::int32_t>()[0], a);
  EXPECT_EQ(s.epoch(p), before + runs);
}

TEST_F(repeat, is_checked_for_the_last_run_as_well) {
  auto const steps = start().repeat(4).advance("token", 1); // 2, 3, 4, 5: inside the table
  EXPECT_NO_THROW(s.submit(p, steps).wait());
  EXPECT_THROW((void)s.submit(p, start().repeat(6).advance("token", 1)), submit_error); // ends at 7
}

TEST_F(repeat, refuses_what_does_not_fit_by_name) {
  auto const refused = [&](step const& with, std::string const& word) {
    try {
      (void)s.submit(p, with);
      ADD_FAILURE() << "accepted, expected a complaint about " << word;
    } catch (submit_error const& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  tensor small(data_type::int32, {1, 2});
  refused(start().repeat(0), "runs");
  refused(start().repeat(2).carry("next", "temperature"), "temperature");
  refused(start().repeat(2).carry("nothing", "token"), "nothing");
  refused(start().repeat(2).carry("next", "token").keep("token", small.view()), "history");
  refused(start().repeat(2).keep("token", small.view()), "never change");
}

} // namespace
} // namespace mk
