/// What a submission must bring, and what is refused: with words, and without an effect on what follows.

#include "kit.hpp"

namespace mk {
namespace {

using namespace kit;

class binding : public testing::Test {
protected:
  binding() {
    s.set_constant("bias", shared(numbers(-1, 1)));
    s.set_constant("table", shared(numbers(10, 3)));
  }

  std::string refusal(program_id of, step const& given) {
    return error_of<submit_error>([&] { s.submit(of, given); });
  }

  session s{host_device{}, list::table};
  program_id p = s.load(chain("chain", 2, 2));
  program_id counts = s.load(counting("counting", 2));
  tensor x = numbers(capacity, 2);
  tensor y = poisoned(capacity);
};

TEST_F(binding, names_all_that_is_missing) {
  auto const text = refusal(p, step());
  for (auto part : {"program 'chain'", "live axis 'tokens' has no length", "input 'x'", "output 'y'"})
    EXPECT_TRUE(has(text, part)) << text;
  EXPECT_TRUE(has(refusal(counts, step().live("tokens", 1).bind("y", rows_of(y, 1))), "step values 'ids' are missing"));
}

TEST_F(binding, names_all_that_is_unknown) {
  auto given = on(x.view(), y.view());
  given.live("token", 3).bind("z", x.view()).values("id", {1});
  auto const text = refusal(p, given);
  for (auto part : {"'token'", "'z'", "'id'"}) EXPECT_TRUE(has(text, part)) << text;
}

TEST_F(binding, names_what_is_of_another_kind) {
  auto given = on(x.view(), y.view());
  given.bind("bias", x.view()).values("x", {1.0f});
  auto const text = refusal(p, given);
  EXPECT_TRUE(has(text, "'bias' is of kind constant, and cannot be bound")) << text;
  EXPECT_TRUE(has(text, "'x' is of kind input, not step values")) << text;
}

TEST_F(binding, refuses_lengths_out_of_range) {
  for (std::int64_t length : {std::int64_t(-1), capacity + 1, std::numeric_limits<std::int64_t>::min()}) {
    auto const text = refusal(p, on(x.view(), y.view()).live("tokens", length));
    EXPECT_TRUE(has(text, "'tokens' is " + std::to_string(length) + ", allowed 0 to 64")) << text;
  }
}

TEST_F(binding, refuses_shapes_types_strides_and_addresses) {
  auto view = rows_of(x, 5);
  auto const with = [&](auto change) {
    auto changed = view;
    change(changed);
    return refusal(p, on(view, rows_of(y, 5)).bind("x", changed));
  };
  EXPECT_TRUE(has(with([](tensor_view& v) { v.extents[0] = 6; }), "'x' is fp32 [6, 24], expected fp32 [5, 24]"));
  EXPECT_TRUE(has(with([](tensor_view& v) { v.type = data_type::int32; }), "int32 [5, 24], expected fp32 [5, 24]"));
  EXPECT_TRUE(has(with([](tensor_view& v) { v.rank = 1; }), "is fp32 [5], expected fp32 [5, 24]"));
  EXPECT_TRUE(has(with([](tensor_view& v) { v.rank = -1; }), "'x' is absent"));
  EXPECT_TRUE(has(with([](tensor_view& v) { v.strides[0] = 25; }), "stride 25 on axis 0, expected 24"));
  EXPECT_TRUE(has(with([](tensor_view& v) { v.data = nullptr; }), "'x' has no memory"));
  EXPECT_TRUE(has(with([](tensor_view& v) { v.data += 2; }), "not aligned"));
}

TEST_F(binding, an_empty_tensor_needs_no_memory) {
  tensor_view const none{.data = nullptr, .type = data_type::fp32, .rank = 2, .extents = {0, width}, .strides = {}};
  s.submit(p, on(none, none)).wait();
}

TEST_F(binding, refuses_written_memory_under_two_names) {
  auto const text = refusal(p, on(x.view(), x.view()));
  EXPECT_TRUE(has(text, "'x' and 'y'") || has(text, "'y' and 'x'")) << text;
  tensor total(data_type::fp32, {1, width});
  auto view = total.view();
  view.data = s.state("total").data;
  EXPECT_TRUE(has(refusal(counts, step().live("tokens", 1).values("ids", {1}).bind("y", view)), "'total'"));
}

TEST_F(binding, names_all_constants_that_are_not_set) {
  session fresh(host_device{}, list::table);
  auto const a = fresh.load(chain("chain", 2, 1));
  auto const text = error_of<submit_error>([&] { fresh.submit(a, on(x.view(), y.view())); });
  EXPECT_TRUE(has(text, "constant 'bias' is not set")) << text;
  fresh.set_constant("bias", shared(numbers(-1, 1)));
  fresh.submit(a, on(x.view(), y.view())).wait();
}

TEST_F(binding, constants_must_fit_loaded_and_later_programs) {
  auto const text = error_of<submit_error>([&] { s.set_constant("bias", shared(numbers(2, 1))); });
  EXPECT_TRUE(has(text, "constant 'bias' is fp32 [2, 24], expected fp32 [24] (program 'chain')")) << text;
  EXPECT_TRUE(has(error_of<submit_error>([&] { s.set_constant("bias", nullptr); }), "null"));

  session fresh(host_device{}, list::table);
  fresh.set_constant("bias", shared(numbers(2, 1)));
  EXPECT_TRUE(has(error_of<program_error>([&] { fresh.load(chain("chain", 2, 1)); }), "constant 'bias'"));
}

TEST_F(binding, a_constant_may_be_replaced_between_submissions) {
  std::weak_ptr<tensor const> old;
  {
    auto const first = shared(numbers(-1, 8));
    old = first;
    s.set_constant("bias", first);
  }
  auto y2 = poisoned(capacity);
  auto const a = s.submit(p, on(x.view(), y.view()));
  auto const second = shared(numbers(-1, 9));
  s.set_constant("bias", second);
  s.submit(p, on(x.view(), y2.view())).wait();
  EXPECT_EQ(y.span<float>()[0], chain_result(2, x.span<float>()[0], numbers(-1, 8).span<float>()[0]));
  EXPECT_EQ(y2.span<float>()[0], chain_result(2, x.span<float>()[0], second->span<float>()[0]));
  s.wait_idle();
  EXPECT_TRUE(old.expired());
}

TEST_F(binding, states_of_one_name_must_be_alike) {
  builder b("other");
  auto const rows = b.live("tokens", 8);
  auto const in = b.buffer(buffer_kind::input, "x", dense(data_type::fp32, rows, extent{5}));
  auto const total = b.buffer(buffer_kind::state, "total", dense(data_type::fp32, extent{5}));
  b.node<tally>("tally", {}, {in, total}, 8, 5);
  auto const text = error_of<program_error>([&] { s.load(b.build(1)); });
  EXPECT_TRUE(has(text, "program 'other', state 'total' is fp32 [5], expected fp32 [24]")) << text;
}

TEST_F(binding, operations_check_contents_before_anything_runs) {
  auto const text = refusal(counts, step().live("tokens", 3).values("ids", {1, 10, 2}).bind("y", rows_of(y, 3)));
  EXPECT_TRUE(has(text, "node 'pick' (pick): ids[1] is 10, table has 10 rows")) << text;
  EXPECT_EQ(s.epoch(counts), 0u);
  EXPECT_TRUE(all_nan(std::as_const(y).span<float>()));
}

TEST_F(binding, step_values_need_the_live_shape) {
  auto const given = [&](auto const&... values) {
    return refusal(counts, step().live("tokens", 2).values("ids", values...).bind("y", rows_of(y, 2)));
  };
  EXPECT_TRUE(has(given(std::vector<std::int32_t>{1, 2, 3}), "have 3 elements, expected 2"));
  EXPECT_TRUE(has(given(std::vector<float>{1, 2}), "is fp32 [2], expected int32 [2]"));
  EXPECT_TRUE(has(given(tensor(data_type::int32, {2, 1}).view()), "is int32 [2, 1], expected int32 [2]"));
}

TEST_F(binding, step_values_may_have_strides) {
  tensor every_other(data_type::int32, {2, 2});
  std::ranges::copy(std::array{1, 99, 4, 99}, every_other.span<std::int32_t>().begin());
  auto view = every_other.view();
  view.rank = 1;
  s.submit(counts, step().live("tokens", 2).values("ids", view).bind("y", rows_of(y, 2))).wait();
  auto const table = numbers(10, 3);
  EXPECT_EQ(y.span<float>()[0], std::as_const(table).span<float>()[width]);
  EXPECT_EQ(y.span<float>()[width], std::as_const(table).span<float>()[4 * width]);
}

TEST_F(binding, a_refused_submission_leaves_the_session_well) {
  refusal(p, step());
  s.submit(p, on(x.view(), y.view())).wait();
  EXPECT_EQ(y.span<float>()[7], chain_result(2, x.span<float>()[7], numbers(-1, 1).span<float>()[7]));
  EXPECT_EQ(s.epoch(p), 1u);
}

TEST_F(binding, programs_belong_to_their_session) {
  session other(host_device{}, list::table);
  auto const q = other.load(builder("none").build(1));
  EXPECT_TRUE(has(refusal(q, step()), "was not loaded by this session"));
  EXPECT_TRUE(has(refusal(program_id{}, step()), "was not loaded by this session"));
  EXPECT_TRUE(has(error_of<submit_error>([&] { std::ignore = s.state("unknown"); }), "'unknown'"));
}

} // namespace
} // namespace mk
