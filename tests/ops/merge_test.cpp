#include <megakernels/ops/merge/merge.hpp>

#include "declared.hpp"

#include <limits>

namespace mk {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int head_dim = 64;

struct part {
  double value;
  double lse;
};

/// One row and head whose parts are constant vectors.
struct merged {
  merged(std::vector<part> const& parts, data_type type, bool oracle = false)
      : node({.heads = 1, .type = data_type::fp32}, operands(parts, type), {merge::merged_lse}) {
    node.run({.oracle = oracle});
    for (int i = 1; i < head_dim; ++i) EXPECT_EQ(kit::ulps(data_type::fp32, value(i), value(0)), 0);
  }
  static std::vector<std::pair<int, kit::tensor>> operands(std::vector<part> const& parts, data_type type) {
    auto const splits = static_cast<std::int64_t>(parts.size());
    auto const o = kit::blank(type, {splits, 1, head_dim});
    auto const lse = kit::blank(data_type::fp32, {splits, 1, 1});
    for (std::int64_t s = 0; s < splits; ++s) {
      lse.set(parts[static_cast<std::size_t>(s)].lse, s, 0, 0);
      for (int i = 0; i < head_dim; ++i) o.set(parts[static_cast<std::size_t>(s)].value, s, 0, i);
    }
    return {{merge::o, o}, {merge::lse, lse}};
  }
  double value(int i = 0) { return node[merge::y].get(0, i); }
  double lse() { return node[merge::merged_lse].get(0, 0); }

  kit::node<merge> node;
};

TEST(merge, empty_parts) {
  for (auto type : {data_type::fp32, data_type::bf16, data_type::fp16})
    for (bool oracle : {false, true}) {
      merged none({{0, -infinity}, {0, -infinity}}, type, oracle);
      EXPECT_EQ(none.value(), 0);
      EXPECT_EQ(none.lse(), -infinity);

      merged one({{0, -infinity}, {3, 0.5}}, type, oracle);
      EXPECT_EQ(one.value(), 3);
      EXPECT_EQ(one.lse(), 0.5);

      // What an empty part holds is not read.
      merged unread({{NAN, -infinity}, {3, 0.5}, {infinity, -infinity}}, type, oracle);
      EXPECT_EQ(unread.value(), 3);
      EXPECT_EQ(unread.lse(), 0.5);

      merged no_parts({}, type, oracle);
      EXPECT_EQ(no_parts.value(), 0);
      EXPECT_EQ(no_parts.lse(), -infinity);
    }
}

TEST(merge, known_values) {
  for (auto type : {data_type::fp32, data_type::bf16, data_type::fp16}) {
    merged equal({{2, 1}, {4, 1}}, type);
    EXPECT_EQ(equal.value(), 3);
    EXPECT_LE(kit::ulps(data_type::fp32, equal.lse(), 1 + std::log(2.0)), 1);

    merged far({{2, -1000}, {4, 1000}}, type);
    EXPECT_EQ(far.value(), 4);
    EXPECT_EQ(far.lse(), 1000);

    merged large({{2, 3e38}, {4, -3e38}}, type);
    EXPECT_EQ(large.value(), 2);
  }
}

TEST(merge, any_place_of_the_empty_part) {
  part const a{1.37, 0.21}, b{-2.9, 1.3}, empty{0, -infinity};
  merged first({empty, a, b}, data_type::fp32);
  for (auto const& order : {std::vector{a, empty, b}, {a, b, empty}, {empty, b, a}, {b, empty, a}, {b, a, empty}}) {
    merged other(order, data_type::fp32);
    EXPECT_LE(kit::ulps(data_type::fp32, other.value(), first.value()), 1);
    EXPECT_LE(kit::ulps(data_type::fp32, other.lse(), first.lse()), 1);
  }
}

TEST(merge, states_that_are_none_stay_in_their_row_and_head) {
  auto const o = kit::uniform(data_type::fp32, {3, 2, 10}, 1);
  auto const lse = kit::uniform(data_type::fp32, {3, 2, 2}, 2);
  kit::node<merge> n({.heads = 2, .type = data_type::bf16}, {{merge::o, o}, {merge::lse, lse}}, {merge::merged_lse});
  n.run();
  auto const good = n[merge::y].numbers();
  for (double bad : {infinity, static_cast<double>(NAN)}) {
    lse.set(bad, 1, 0, 1);
    n.run();
    auto const found = n[merge::y].numbers();
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (i >= 5 && i < 10)
        EXPECT_TRUE(std::isnan(found[i]));
      else
        EXPECT_EQ(found[i], good[i]);
    }
    EXPECT_TRUE(std::isnan(n[merge::merged_lse].get(0, 1)));
    EXPECT_FALSE(std::isnan(n[merge::merged_lse].get(1, 1)));
  }
}

TEST(merge, types_strides_and_cuts) {
  for (auto type : {data_type::fp32, data_type::bf16, data_type::fp16})
    for (auto result : kit::floating_types) {
      auto const o = kit::uniform(type, {4, 7, 3 * 11 + 5}, 3).slice(2, 2, 35);
      auto const lse = kit::uniform(data_type::fp32, {4, 7, 6}, 4, 3).slice(2, 1, 4);
      lse.set(-infinity, 2, 5, 1);
      kit::node<merge> n({.heads = 3, .type = result}, {{merge::o, o}, {merge::lse, lse}}, {merge::merged_lse});
      auto const total = [&](std::int64_t row, std::int64_t head) {
        double sum = 0;
        for (int s = 0; s < 4; ++s) sum += std::exp(lse.get(s, row, head));
        return sum;
      };
      auto const right = [&](std::int64_t row, std::int64_t column) {
        double sum = 0;
        for (int s = 0; s < 4; ++s) sum += std::exp(lse.get(s, row, column / 11)) * o.get(s, row, column);
        return sum / total(row, column / 11);
      };
      for (bool oracle : {true, false}) {
        n.run({.oracle = oracle});
        kit::expect_close(n[merge::y], right, 1, 1e-6);
        kit::expect_close(
            n[merge::merged_lse], [&](std::int64_t i, std::int64_t j) { return std::log(total(i, j)); }, 1, 1e-6);
      }
      kit::expect_same_bits_for_any_cut(n, merge::y);
      kit::expect_same_bits_for_any_cut(n, merge::merged_lse);
    }
}

TEST(merge, tasks_write_what_they_declare) {
  merge::arguments const a{.heads = 3, .type = data_type::bf16};
  kit::node<merge> n(a,
                     {{merge::o, kit::uniform(data_type::fp32, {2, 5, 12}, 1)},
                      {merge::lse, kit::uniform(data_type::fp32, {2, 5, 3}, 2)}},
                     {merge::merged_lse});
  kit::expect_writes_are_declared(n, a, {1, 4, 1, 3}, {merge::y, merge::merged_lse});
  // Without the optional output.
  kit::node<merge> plain(a, {{merge::o, n[merge::o]}, {merge::lse, n[merge::lse]}});
  EXPECT_FALSE(plain[merge::merged_lse].present());
  kit::expect_writes_are_declared(plain, a, {0, 5, 0, 1}, {merge::y});
}

TEST(merge, nothing_to_do) {
  for (auto const& [rows, width] : {std::pair(0, 6), {4, 0}}) {
    kit::node<merge> n({.heads = 2}, {{merge::o, kit::blank(data_type::bf16, {3, rows, width})},
                                      {merge::lse, kit::constant(data_type::fp32, {3, rows, 2}, 1)}});
    n.run();
  }
}

TEST(merge, refused_shapes_and_arguments) {
  std::vector<std::pair<int, kit::tensor>> const good{{merge::o, kit::blank(data_type::fp32, {2, 5, 12})},
                                                      {merge::lse, kit::blank(data_type::fp32, {2, 5, 3})}};
  kit::expect_mentions(kit::refusal<merge>({.heads = 0}, good), {"heads is 0"});
  kit::expect_mentions(kit::refusal<merge>({.heads = 5}, good), {"o: axis 2", "12", "multiple of 5"});
  kit::expect_mentions(kit::refusal<merge>({.heads = 4}, good), {"lse: axis 2", "3", "4"});
  kit::expect_mentions(kit::refusal<merge>({.heads = 3, .type = data_type::int8}, good), {"type is 5"});
  auto operands = good;
  operands[0].second = kit::blank(data_type::e4m3, {2, 5, 12});
  kit::expect_mentions(kit::refusal<merge>({.heads = 3}, operands), {"o: has data type e4m3", "fp32, bf16, fp16"});
  operands = good;
  operands[1].second = kit::blank(data_type::fp32, {3, 5, 3});
  kit::expect_mentions(kit::refusal<merge>({.heads = 3}, operands), {"lse: axis 0", "3", "2"});
  operands[1].second = kit::blank(data_type::bf16, {2, 5, 3});
  kit::expect_mentions(kit::refusal<merge>({.heads = 3}, operands), {"lse: has data type bf16", "fp32"});
}

} // namespace
} // namespace mk
