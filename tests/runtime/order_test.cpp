/// What submissions compute, in which order, and what they leave behind.

#include "kit.hpp"

namespace mk {
namespace {

using namespace kit;

void expect_chain(tensor const& y, tensor const& x, tensor const& bias, float factor, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows * width; ++i) {
    auto const at = static_cast<std::size_t>(i);
    ASSERT_EQ(y.span<float>()[at], chain_result(factor, x.span<float>()[at], bias.span<float>()[at % width])) << i;
  }
}

TEST(order, one_program_gives_the_same_bits_for_any_number_of_workers) {
  auto const bias = shared(numbers(-1, 1));
  auto const x = numbers(capacity, 2);
  for (std::uint32_t workers : {1u, 2u, 3u, 7u, 64u}) {
    SCOPED_TRACE(workers);
    session s(host_device{}, list::table);
    auto const p = s.load(chain("chain", 2, workers));
    s.set_constant("bias", bias);
    auto y = poisoned(capacity);
    s.submit(p, on(x.view(), y.view())).wait();
    expect_chain(y, x, *bias, 2, capacity);
  }
}

TEST(order, lengths_change_and_rows_beyond_them_are_left_alone) {
  session s(host_device{}, list::table);
  auto const bias = shared(numbers(-1, 1));
  s.set_constant("bias", bias);
  auto const p = s.load(chain("chain", 2, 3));
  for (std::int64_t rows : {64, 5, 64, 1, 33, 0, 64, 0}) {
    SCOPED_TRACE(rows);
    auto const x = numbers(capacity, static_cast<int>(rows) + 3);
    auto y = poisoned(capacity);
    s.submit(p, on(rows_of(x, rows), rows_of(y, rows))).wait();
    expect_chain(y, x, *bias, 2, rows);
    EXPECT_TRUE(all_nan(std::as_const(y).span<float>().subspan(static_cast<std::size_t>(rows * width))));
  }
}

TEST(order, programs_take_turns) {
  session s(host_device{}, list::table);
  auto const bias = shared(numbers(-1, 1));
  s.set_constant("bias", bias);
  auto const a = s.load(chain("a", 2, 3));
  auto const b = s.load(chain("b", -4, 2));
  // What one writes the next reads, while both are queued.
  auto const x = numbers(capacity, 5);
  auto y1 = poisoned(capacity);
  auto y2 = poisoned(capacity);
  auto y3 = poisoned(capacity);
  s.submit(a, on(x.view(), y1.view()));
  s.submit(b, on(y1.view(), y2.view()));
  auto const last = s.submit(a, on(y2.view(), y3.view()));
  last.wait();
  expect_chain(y1, x, *bias, 2, capacity);
  expect_chain(y2, y1, *bias, -4, capacity);
  expect_chain(y3, y2, *bias, 2, capacity);
  EXPECT_EQ(s.epoch(a), 2u);
  EXPECT_EQ(s.epoch(b), 1u);
}

TEST(order, a_thousand_submissions_with_changing_values) {
  session s(host_device{}, list::table);
  auto const table = shared(numbers(10, 3));
  s.set_constant("table", table);
  auto const p = s.load(counting("counting", 2));
  std::vector<float> expected(width);
  auto y = poisoned(capacity);
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(i * 7 % (capacity + 1)));
    for (std::size_t j = 0; j < ids.size(); ++j) {
      ids[j] = (i + static_cast<int>(j)) % 10;
      for (std::size_t c = 0; c < expected.size(); ++c)
        expected[c] += table->span<float>()[static_cast<std::size_t>(ids[j]) * width + c];
    }
    auto const rows = static_cast<std::int64_t>(ids.size());
    s.submit(p, step().live("tokens", rows).values("ids", ids).bind("y", rows_of(y, rows)));
    // The values were copied: the queued submission must not see this.
    std::ranges::fill(ids, 9);
  }
  auto const total = s.state("total");
  for (std::size_t c = 0; c < expected.size(); ++c)
    EXPECT_EQ(*reinterpret_cast<float const*>(total.at(static_cast<std::int64_t>(c))), expected[c]);
  EXPECT_EQ(s.epoch(p), 1000u);
}

TEST(order, counters_and_epochs_go_on_across_zero) {
  session s(host_device{.first_epoch = 0xFFFFFFFDu}, list::table);
  auto const bias = shared(numbers(-1, 1));
  s.set_constant("bias", bias);
  auto const plan = chain("chain", 2, 3);
  auto const other = s.load(chain("other", 5, 2));
  auto const p = s.load(plan);
  EXPECT_EQ(s.epoch(p), 0xFFFFFFFCu);
  for (std::uint32_t i = 0; i < 8; ++i) {
    auto const x = numbers(capacity, static_cast<int>(i));
    auto y = poisoned(capacity);
    s.submit(p, on(x.view(), y.view())).wait();
    expect_chain(y, x, *bias, 2, capacity);
    EXPECT_EQ(s.epoch(p), 0xFFFFFFFDu + i);
    auto const counters = s.counters(p);
    ASSERT_EQ(counters.size(), plan.counters.size());
    for (std::size_t c = 0; c < counters.size(); ++c) EXPECT_EQ(counters[c], plan.counters[c] * s.epoch(p));
  }
  EXPECT_EQ(s.epoch(other), 0xFFFFFFFCu);
}

TEST(order, programs_share_state_by_name) {
  session s(host_device{}, list::table);
  s.set_constant("table", shared(numbers(10, 3)));
  auto const wide = s.load(counting("prefill", 3));
  auto const narrow = s.load(counting("decode", 1));
  auto y = poisoned(capacity);
  s.submit(wide, step().live("tokens", 2).values("ids", {1, 2}).bind("y", rows_of(y, 2)));
  s.submit(narrow, step().live("tokens", 1).values("ids", {3}).bind("y", rows_of(y, 1))).wait();
  auto const table = numbers(10, 3);
  auto const rows = std::as_const(table).span<float>();
  for (std::size_t c = 0; c < width; ++c)
    EXPECT_EQ(*reinterpret_cast<float const*>(s.state("total").at(static_cast<std::int64_t>(c))),
              rows[width + c] + rows[2 * width + c] + rows[3 * width + c]);
  s.reset();
  EXPECT_EQ(*reinterpret_cast<float const*>(s.state("total").at(0)), 0.0f);
  EXPECT_EQ(s.epoch(wide), 0u);
}

TEST(order, nothing_to_do_completes) {
  session s(host_device{}, list::table);
  auto const none = s.load(builder("none").build(2));
  for (int i = 0; i < 3; ++i) s.submit(none, step()).wait();
  EXPECT_EQ(s.epoch(none), 3u);
  EXPECT_TRUE(s.status().failure.empty());
}

TEST(order, a_slow_task_is_not_stuck) {
  session s(host_device{.stuck_after = std::chrono::milliseconds(10)}, list::table);
  auto const p = s.load(trapped("slow", 7, 100));
  auto x = numbers(capacity, 1);
  x.span<float>()[0] = trap::sleeps;
  auto y = poisoned(capacity);
  s.submit(p, on(x.view(), y.view())).wait();
  for (std::size_t i = 0; i < y.span<float>().size(); ++i) ASSERT_EQ(y.span<float>()[i], 2 * x.span<float>()[i]);
}

TEST(order, many_threads_may_submit) {
  session s(host_device{}, list::table);
  auto const bias = shared(numbers(-1, 1));
  s.set_constant("bias", bias);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto const p = s.load(chain("chain", static_cast<float>(t), 2));
      for (int i = 0; i < 25; ++i) {
        auto const x = numbers(capacity, i + t);
        auto y = poisoned(capacity);
        s.submit(p, on(x.view(), y.view())).wait();
        expect_chain(y, x, *bias, static_cast<float>(t), capacity);
      }
    });
  for (auto& t : threads) t.join();
}

} // namespace
} // namespace mk
