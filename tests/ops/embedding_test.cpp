#include <megakernels/ops/embedding/embedding.hpp>

#include "kit.hpp"

namespace mk {
namespace {

kit::tensor ids(std::vector<double> const& list) {
  return kit::values(data_type::int32, {static_cast<std::int64_t>(list.size())}, list);
}

TEST(embedding, gathers_rows_of_every_type) {
  std::vector<double> const list{3, 0, 10, 3, 7};
  for (auto from : kit::floating_types)
    for (auto to : kit::floating_types)
      for (std::int64_t width : {1, 33, 200}) {
        auto const table = kit::uniform(from, {11, width}, 1);
        kit::node<embedding> n({.type = to}, {{embedding::table, table}, {embedding::ids, ids(list)}});
        auto const right = [&](auto t, auto i) {
          return kit::rounded(to, table.get(static_cast<std::int64_t>(list[static_cast<std::size_t>(t)]), i));
        };
        n.run();
        kit::expect_close(n[embedding::y], right, 0);
        n.run({.oracle = true});
        kit::expect_close(n[embedding::y], right, 0);
        kit::expect_same_bits_for_any_cut(n, embedding::y);
      }
}

TEST(embedding, a_table_may_be_columns_of_a_wider_tensor_or_turned) {
  auto const wide = kit::uniform(data_type::bf16, {6, 40}, 1);
  kit::node<embedding> n({.type = data_type::bf16},
                         {{embedding::table, wide.slice(1, 5, 22)}, {embedding::ids, ids({5, 1})}});
  n.run();
  kit::expect_close(n[embedding::y], [&](auto t, auto i) { return wide.get(t == 0 ? 5 : 1, i + 5); }, 0);
  kit::node<embedding> turned({.type = data_type::bf16},
                              {{embedding::table, wide.transposed()}, {embedding::ids, ids({39, 0})}});
  turned.run();
  kit::expect_close(turned[embedding::y], [&](auto t, auto i) { return wide.get(i, t == 0 ? 39 : 0); }, 0);
}

TEST(embedding, an_id_outside_the_table_is_refused_and_does_no_harm) {
  for (double bad : {-1.0, 4.0, 1073741824.0, 2147483647.0, -2147483648.0}) {
    kit::node<embedding> n(
        {}, {{embedding::table, kit::constant(data_type::bf16, {4, 10}, 1)}, {embedding::ids, ids({0, 3, bad})}});
    auto const text = kit::message_of<submit_error>([&] { n.check(); });
    kit::expect_mentions(text, {"ids[2]", std::to_string(static_cast<std::int64_t>(bad)), "3"});
    n.run();
    kit::expect_close(n[embedding::y], [](auto t, auto) { return t < 2 ? 1.0 : 0.0; }, 0);
  }
  kit::node<embedding> good(
      {}, {{embedding::table, kit::constant(data_type::bf16, {4, 10}, 1)}, {embedding::ids, ids({0, 3})}});
  EXPECT_NO_THROW(good.check());
}

/// The limit is the live length where the table is an activation.
TEST(embedding, rows_of_activations) {
  auto const hidden = kit::constant(data_type::bf16, {8, 10}, 1).live(0, 0);
  kit::node<embedding> n({}, {{embedding::table, hidden}, {embedding::ids, ids({4, 5})}});
  EXPECT_NO_THROW(n.check({6}));
  kit::expect_mentions(kit::message_of<submit_error>([&] { n.check({5}); }), {"ids[1]", "5", "0 to 4"});
  n.run({}, {5});
  kit::expect_close(n[embedding::y], [](auto t, auto) { return t == 0 ? 1.0 : 0.0; }, 0);
}

TEST(embedding, ids_that_the_host_does_not_see_are_not_looked_at) {
  kit::node<embedding> n({},
                         {{embedding::table, kit::constant(data_type::bf16, {4, 10}, 1)}, {embedding::ids, ids({9})}});
  auto views = n.views();
  views[embedding::ids].data = nullptr;
  EXPECT_NO_THROW(embedding::check({}, views));
}

TEST(embedding, nothing_to_gather) {
  for (auto const& [vocabulary, rows, width] : {std::tuple{4, 0, 10}, {4, 2, 0}}) {
    kit::node<embedding> n({}, {{embedding::table, kit::blank(data_type::bf16, {vocabulary, width})},
                                {embedding::ids, ids(std::vector<double>(static_cast<std::size_t>(rows)))}});
    n.run();
  }
  kit::node<embedding> empty({},
                             {{embedding::table, kit::blank(data_type::bf16, {0, 10})}, {embedding::ids, ids({0})}});
  empty.run();
  for (double v : empty[embedding::y].numbers()) EXPECT_EQ(v, 0);
  EXPECT_THROW(empty.check(), submit_error);
}

TEST(embedding, refusals) {
  auto const table = kit::blank(data_type::bf16, {4, 10});
  auto const of = [](embedding::arguments const& a, kit::tensor const& t, kit::tensor const& i) {
    return kit::refusal<embedding>(a, {{embedding::table, t}, {embedding::ids, i}});
  };
  kit::expect_mentions(of({}, kit::blank(data_type::int8, {4, 10}), ids({0})), {"table", "int8"});
  kit::expect_mentions(of({}, kit::blank(data_type::bf16, {4}), ids({0})), {"table", "1 axes"});
  kit::expect_mentions(of({}, table, kit::blank(data_type::fp32, {1})), {"ids", "fp32", "int32"});
  kit::expect_mentions(of({}, table, kit::blank(data_type::int32, {1, 1})), {"ids", "2 axes"});
  kit::expect_mentions(of({.type = static_cast<data_type>(-5)}, table, ids({0})), {"type", "-5"});
}

} // namespace
} // namespace mk
