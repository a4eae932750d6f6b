/// What goes wrong while a program runs: it ends with words, what is behind it is cancelled, nothing hangs.

#include <megakernels/runtime/internal/load_unverified.hpp>

#include "kit.hpp"

#include <chrono>

namespace mk {
namespace {

using namespace kit;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// `chain`, except that its second node waits for a signal too many of the first.
program stuck_chain(std::uint32_t workers) {
  auto p = chain("stuck", 2, workers);
  p.counters[0] += 1;
  return p;
}

class failure : public testing::Test {
protected:
  failure() { s.set_constant("bias", bias); }

  void expect_good(session& on_session, program_id p) {
    auto good = poisoned(capacity);
    on_session.submit(p, on(x.view(), good.view())).wait();
    for (std::size_t i = 0; i < good.span<float>().size(); ++i)
      ASSERT_EQ(good.span<float>()[i], chain_result(2, x.span<float>()[i], bias->span<float>()[i % width]));
  }

  std::shared_ptr<tensor const> bias = shared(numbers(-1, 1));
  tensor x = numbers(capacity, 2);
  tensor y = poisoned(capacity);
  session s{host_device{.stuck_after = milliseconds(50)}, list::table};
};

TEST_F(failure, an_exception_of_an_operation_names_its_node) {
  for (std::uint32_t workers : {1u, 2u, 7u}) {
    SCOPED_TRACE(workers);
    auto const p = s.load(trapped("trapped", workers));
    x.span<float>()[10 * width] = trap::throws;
    auto const run = s.submit(p, on(x.view(), y.view()));
    auto const text = error_of<device_error>([&] { run.wait(); });
    EXPECT_TRUE(has(text, "program 'trapped', node 'door' (trap): std::bad_alloc")) << text;
    EXPECT_EQ(run.state(), submission_state::failed);
    EXPECT_EQ(s.status().failure, text);
    s.reset();
    x.span<float>()[10 * width] = 0;
    s.submit(p, on(x.view(), y.view())).wait();
    EXPECT_EQ(y.span<float>()[3], 2 * x.span<float>()[3]);
  }
}

TEST_F(failure, a_stuck_program_names_every_wait) {
  auto const p = detail::load_unverified(s, stuck_chain(3));
  auto const start = steady_clock::now();
  auto const text = error_of<device_error>([&] { s.submit(p, on(x.view(), y.view())).wait(); });
  auto const took = steady_clock::now() - start;
  EXPECT_GE(took, milliseconds(50));
  EXPECT_LT(took, milliseconds(5000));
  EXPECT_TRUE(has(text, "program 'stuck', submission 1: stuck, no worker has moved for 50 ms")) << text;
  // 48 tasks of the first node go to three workers in turn; the next record of each belongs to the second.
  for (auto part : {"worker 0, record 16, node 'second' (mix): counter 0 is 48, needs 49", "worker 1, record ",
                    "worker 2, record "})
    EXPECT_TRUE(has(text, part)) << text;
}

TEST_F(failure, queued_submissions_are_cancelled) {
  auto const good = s.load(chain("good", 2, 2));
  auto const bad = detail::load_unverified(s, stuck_chain(2));
  auto y1 = poisoned(capacity);
  auto y2 = poisoned(capacity);
  auto const first = s.submit(good, on(x.view(), y1.view()));
  auto const second = s.submit(bad, on(x.view(), y.view()));
  auto const third = s.submit(good, on(x.view(), y2.view()));
  first.wait();
  EXPECT_THROW(second.wait(), device_error);
  auto const text = error_of<submission_cancelled>([&] { third.wait(); });
  EXPECT_TRUE(has(text, "cancelled: program 'stuck'")) << text;
  EXPECT_EQ(third.state(), submission_state::cancelled);
  EXPECT_TRUE(all_nan(std::as_const(y2).span<float>()));

  EXPECT_TRUE(has(error_of<device_error>([&] { s.submit(good, on(x.view(), y2.view())); }), "reset it first"));
  s.reset();
  EXPECT_TRUE(s.status().failure.empty());
  expect_good(s, good);
  EXPECT_EQ(s.epoch(good), 1u);
}

TEST_F(failure, a_lost_signal_is_found_and_reset_heals) {
  for (std::uint32_t workers : {2u, 7u, 64u}) {
    SCOPED_TRACE(workers);
    session lossy(host_device{.stuck_after = milliseconds(20), .first_epoch = 0xFFFFFFFEu, .drop_signal = 2u},
                  list::table);
    lossy.set_constant("bias", bias);
    auto const plan = chain("chain", 2, workers);
    auto const p = lossy.load(plan);
    auto const run = lossy.submit(p, on(x.view(), y.view()));
    auto const text = error_of<device_error>([&] { run.wait(); });
    EXPECT_TRUE(has(text, "counter " + std::to_string(plan.records[2].signal) + " is ")) << text;
    lossy.reset();
    for (int i = 0; i < 4; ++i) expect_good(lossy, p);
    EXPECT_EQ(lossy.epoch(p), 1u);
  }
}

TEST_F(failure, other_sessions_go_on) {
  session other(host_device{}, list::table);
  other.set_constant("bias", bias);
  auto const p = other.load(chain("good", 2, 2));
  auto const bad = detail::load_unverified(s, stuck_chain(2));
  auto const run = s.submit(bad, on(x.view(), y.view()));
  for (int i = 0; i < 20; ++i) expect_good(other, p);
  EXPECT_THROW(run.wait(), device_error);
  expect_good(other, p);
}

TEST_F(failure, destruction_cancels_what_is_queued) {
  std::vector<submission> runs;
  auto slow = numbers(capacity, 1);
  slow.span<float>()[0] = trap::sleeps;
  {
    session brief(host_device{}, list::table);
    auto const p = brief.load(trapped("slow", 2, 50));
    for (int i = 0; i < 5; ++i) runs.push_back(brief.submit(p, on(slow.view(), y.view())));
  }
  runs.front().wait();
  for (auto const& run : runs) EXPECT_TRUE(run.done());
  EXPECT_TRUE(has(error_of<submission_cancelled>([&] { runs.back().wait(); }), "destroyed"));
}

TEST_F(failure, destruction_ends_a_stuck_program) {
  submission run;
  {
    session brief(host_device{.stuck_after = milliseconds(20)}, list::table);
    brief.set_constant("bias", bias);
    run = brief.submit(detail::load_unverified(brief, stuck_chain(4)), on(x.view(), y.view()));
  }
  EXPECT_EQ(run.state(), submission_state::failed);
}

TEST_F(failure, sessions_come_and_go) {
  for (int i = 0; i < 50; ++i) {
    session brief(host_device{}, list::table);
    brief.set_constant("bias", bias);
    expect_good(brief, brief.load(chain("chain", 2, 3)));
  }
}

TEST_F(failure, reset_cancels_what_is_queued) {
  auto slow = numbers(capacity, 1);
  slow.span<float>()[0] = trap::sleeps;
  auto const p = s.load(trapped("slow", 2, 50));
  auto const first = s.submit(p, on(slow.view(), y.view()));
  auto const last = s.submit(p, on(slow.view(), y.view()));
  s.reset();
  first.wait();
  EXPECT_TRUE(has(error_of<submission_cancelled>([&] { last.wait(); }), "reset"));
  EXPECT_EQ(s.epoch(p), 0u);
  EXPECT_EQ(s.status().pending, 0u);
}

TEST_F(failure, too_many_workers_are_refused_with_both_numbers) {
  auto p = chain("wide", 2, 1);
  p.workers.resize(most_host_workers, {.first = 0, .count = 0});
  p.workers.push_back(p.workers.front());
  p.workers.front() = {};
  auto const text = error_of<device_error>([&] { detail::load_unverified(s, p); });
  EXPECT_TRUE(has(text, "program 'wide' asks for 4097 workers, the host device has 4096")) << text;
  expect_good(s, s.load(chain("good", 2, 2)));
}

TEST_F(failure, settings_out_of_range_are_refused) {
  auto const text = error_of<device_error>([] { session(host_device{.stuck_after = milliseconds(0)}, list::table); });
  EXPECT_TRUE(has(text, "stuck_after is 0 ns, at least 1 ms")) << text;
}

} // namespace
} // namespace mk
