#include <megakernels/tylo/emulator/internal/fiber.hpp>
#include <megakernels/tylo/emulator/internal/symbols.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tylo::emulator {

/// Outside of the anonymous namespace: parts of reports.
template <class... Types> struct handler {
  [[gnu::noinline]] static void hook(code_position& seen) { seen = position_of(__builtin_return_address(0)); }

  static inline int line = 0;
  [[gnu::always_inline]] static void read(code_position& seen) {
    hook(seen), line = __LINE__; // the comma: nothing else shares the line
  }
  [[gnu::noinline]] static int compute(code_position& seen) {
    read(seen);
    asm volatile("");
    return line;
  }
};

struct odd {
  [[gnu::noinline]] code_position operator()(int) const;
  [[gnu::noinline]] bool operator<(odd const&) const;
  [[gnu::noinline]] operator std::vector<code_position>() const;
};

static code_position here;
[[gnu::noinline]] static void mark() { here = position_of(__builtin_return_address(0)); }

code_position odd::operator()(int) const {
  mark();
  asm volatile("");
  return here;
}
bool odd::operator<(odd const&) const {
  mark();
  asm volatile("");
  return here != code_position{};
}
odd::operator std::vector<code_position>() const {
  mark();
  asm volatile("");
  return {here};
}

namespace {

using small = handler<int>;
struct a_type_with_quite_a_long_name {};
using large = handler<a_type_with_quite_a_long_name, a_type_with_quite_a_long_name, a_type_with_quite_a_long_name>;

std::string name_here() { return frames_at(here).back().function; }

bool is_in(std::string const& text, std::string_view whole) { return whole.find(text) != whole.npos; }

/// Names and lines need libbacktrace and debugging symbols.
class symbols : public testing::Test {
protected:
  void SetUp() override {
    mark();
    if (auto const frames = frames_at(here); frames.empty() || frames[0].file.empty())
      GTEST_SKIP() << "built without libbacktrace or debugging symbols";
  }
};

TEST_F(symbols, tell_the_line_and_what_it_is_inlined_into) {
  code_position seen{};
  auto const line = small::compute(seen);
  auto const frames = frames_at(seen);
  ASSERT_GE(frames.size(), 2u) << describe(seen);
  EXPECT_EQ(frames[0].line, line);
  EXPECT_TRUE(frames[0].file.ends_with("tests/emulator/symbols_test.cpp")) << frames[0].file;
  EXPECT_EQ(frames[0].function, "tylo::emulator::handler<int>::read");
  EXPECT_GT(frames[1].line, line);
  EXPECT_EQ(frames[1].function, "tylo::emulator::handler<int>::compute");

  auto const text = describe(seen);
  EXPECT_TRUE(is_in(
      "tests/emulator/symbols_test.cpp:" + std::to_string(line) + " (tylo::emulator::handler<int>::read) < ", text))
      << text;
  EXPECT_FALSE(is_in(" /", " " + text)) << "paths are cut: " << text;
}

TEST_F(symbols, cut_names) {
  code_position seen{};
  (void)large::compute(seen);
  EXPECT_EQ(frames_at(seen).back().function, "tylo::emulator::handler<...>::compute");

  (void)odd{}(3);
  EXPECT_EQ(name_here(), "tylo::emulator::odd::operator()");
  (void)(odd{} < odd{});
  EXPECT_EQ(name_here(), "tylo::emulator::odd::operator<");
  (void)std::vector<code_position>(odd{});
  EXPECT_TRUE(name_here().starts_with("tylo::emulator::odd::operator std::vector<")) << name_here();

  auto const lambda = [](auto) __attribute__((noinline)) {
    mark();
    asm volatile("");
  };
  lambda(1);
  EXPECT_TRUE(name_here().ends_with("::{lambda}::operator()<int>")) << name_here();
}

struct chain_test {
  fiber host, self;
  std::vector<code_position> chain;
  std::string text;
};

[[gnu::noinline]] void inner(chain_test& t) {
  t.chain = call_chain();
  t.text = describe(t.chain);
}
[[gnu::noinline]] void outer(chain_test& t) {
  inner(t);
  asm volatile("");
}

TEST_F(symbols, follow_the_calls) {
  chain_test t;
  outer(t);
  EXPECT_GE(t.chain.size(), 3u);
  auto const at = t.text.find("(tylo::emulator::inner) < ");
  ASSERT_NE(at, t.text.npos) << t.text;
  EXPECT_LT(at, t.text.find("(tylo::emulator::outer) < ")) << t.text;
}

TEST_F(symbols, follow_the_calls_to_the_start_of_a_fiber) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    fiber_set const stacks(2);
    chain_test t;
    stacks.make(
        1, t.self,
        [](void* of) {
          auto& own = *static_cast<chain_test*>(of);
          outer(own);
          switch_to(own.self, own.host);
        },
        &t);
    switch_to(t.host, t.self);
    // inner, outer, the lambda, the function that has no caller.
    EXPECT_GE(t.chain.size(), 3u);
    EXPECT_LE(t.chain.size(), 5u);
    EXPECT_TRUE(is_in("(tylo::emulator::inner) < ", t.text) && is_in("(tylo::emulator::outer)", t.text)) << t.text;
    EXPECT_FALSE(is_in("tylo/emulator/fiber.cpp", t.text)) << t.text;
  }
}

} // namespace
} // namespace tylo::emulator
