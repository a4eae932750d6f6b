#include "kit.hpp"
#include "toy_operations.hpp"

namespace mk {
namespace {

using kit::text_of;

template <class F> std::string refusal(F f) { return text_of<graph_error>(f); }

/// x [tokens <= 8, width 4], made and used by toy operations.
struct small {
  graph g{"g"};
  axis tokens = g.live("tokens", 8);
  value x = g.input("x", data_type::fp32, {tokens, {"width", 4}});
  value w = g.constant("w", data_type::fp32, {{"rows", 6}, {"width", 4}});
  value s = g.state("s", data_type::fp32, {{"slots", 3}, {"width", 4}});
};

TEST(graph, live_axes) {
  small t;
  EXPECT_EQ(refusal([&] { t.g.live("tokens", 3); }), "live axis 'tokens' exists already");
  EXPECT_EQ(refusal([&] { t.g.live("empty", 0); }), "live axis 'empty': capacity is 0, expected 1 or more");
  EXPECT_EQ(refusal([&] { t.g.constant("c", data_type::fp32, {t.tokens}); }),
            "constant 'c': axis 'tokens' is live, expected a fixed one");
  EXPECT_EQ(refusal([&] { t.g.state("c", data_type::fp32, {{"width", 4}, t.tokens}); }),
            "state 'c': axis 'tokens' is live, expected a fixed one");
  EXPECT_EQ(t.g[t.x].desc.extents[0], (extent{.capacity = 8, .live = 0}));
}

TEST(graph, live_axes_of_other_graphs) {
  small t;
  graph other("other");
  auto const same_name = other.live("tokens", 5);
  auto const another = other.live("batch", 5);
  EXPECT_EQ(refusal([&] { t.g.input("y", data_type::fp32, {another}); }),
            "input 'y': axis 'batch' is a live axis of another graph");
  EXPECT_EQ(refusal([&] { t.g.input("y", data_type::fp32, {same_name}); }),
            "input 'y': axis 'tokens' is a live axis of another graph");
}

TEST(graph, names_of_leaves) {
  small t;
  EXPECT_EQ(refusal([&] { t.g.input("", data_type::fp32, {{"a", 1}}); }), "input without a name");
  EXPECT_EQ(refusal([&] { t.g.step("w", data_type::int32, {{"a", 1}}); }),
            "step 'w': the name is taken by another leaf or output");
  auto const y = t.g.add<toy::map>("map", {}, {t.x})[0];
  t.g.output("y", y);
  EXPECT_EQ(refusal([&] { t.g.constant("y", data_type::fp32, {{"a", 1}}); }),
            "constant 'y': the name is taken by another leaf or output");
}

TEST(graph, shapes_of_leaves) {
  small t;
  auto const leaf = [&](std::vector<axis> const& axes, std::vector<std::int64_t> const& strides = {}) {
    return refusal([&] { t.g.input("y", data_type::fp32, axes, strides); });
  };
  EXPECT_EQ(leaf({}), "input 'y': has 0 axes, expected 1 to 4");
  EXPECT_EQ(leaf({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}}), "input 'y': has 5 axes, expected 1 to 4");
  EXPECT_EQ(leaf({{"a", -1}}), "input 'y': axis 'a' has -1 elements; a tensor has 0 to 2^56");
  auto const half = std::int64_t(1) << 28;
  EXPECT_EQ(leaf({{"a", half}, {"b", half + 1}}), "input 'y': axis 'b' has 268435457 elements; a tensor has 0 to 2^56");
  EXPECT_EQ(leaf({{"a", 0}, {"b", INT64_MAX}}),
            "input 'y': axis 'b' has 9223372036854775807 elements; a tensor has 0 to 2^56");
  EXPECT_EQ(leaf({{"a", 2}, {"b", 3}}, {3}), "input 'y': has 1 strides for 2 axes");
  EXPECT_EQ(refusal([&] { t.g.input("y", static_cast<data_type>(77), {{"a", 1}}); }),
            "input 'y': unknown data type 77");
}

TEST(graph, strides_of_leaves) {
  small t;
  auto const leaf = [&](std::vector<std::int64_t> const& strides) {
    return refusal([&] { t.g.input("y", data_type::fp32, {{"a", 3}, {"b", 2}}, strides); });
  };
  EXPECT_EQ(leaf({1, 1}),
            "tensor 'y': axis 1 has stride 1 elements, expected 3 or more so that elements do not overlap");
  EXPECT_EQ(leaf({2, 0}),
            "tensor 'y': axis 1 has stride 0 elements, expected 1 or more so that elements do not overlap");
  EXPECT_EQ(leaf({-2, 1}),
            "tensor 'y': axis 0 has stride -2 elements, expected 1 or more so that elements do not overlap");
  auto const transposed = t.g.input("t", data_type::fp32, {{"a", 3}, {"b", 2}}, {1, 3});
  EXPECT_EQ(t.g[transposed].desc.strides[1], 3);
  auto const padded = t.g.input("p", data_type::fp32, {{"a", 3}, {"b", 2}}, {5, 2});
  EXPECT_EQ(t.g[padded].desc.strides[0], 5);
  t.g.input("one row", data_type::fp32, {{"a", 1}, {"b", 2}}, {0, 1}); // an axis of one element has any stride
}

TEST(graph, windows) {
  small t;
  auto const cut = t.g.window(t.w, 0, 1, 4);
  EXPECT_EQ(t.g[cut].labels.name, "w[rows 1:5]");
  auto const twice = t.g.window(t.g.window(cut, 1, 1, 3), 0, 2, 2);
  auto const& info = t.g[twice];
  EXPECT_EQ(info.kind, value_kind::window);
  EXPECT_EQ(info.base, t.w.index());
  EXPECT_EQ(info.origin[0], 3);
  EXPECT_EQ(info.origin[1], 1);
  EXPECT_EQ(info.desc.extents[0].capacity, 2);
  EXPECT_EQ(info.desc.extents[1].capacity, 3);
  EXPECT_EQ(info.desc.strides, t.g[t.w].desc.strides);
  EXPECT_EQ(t.g[t.g.window(t.x, 1, 4, 0)].desc.extents[1].capacity, 0);
}

TEST(graph, windows_refused) {
  small t;
  EXPECT_EQ(refusal([&] { t.g.window(t.w, 2, 0, 1); }), "window of 'w': no axis 2, the tensor has 2");
  EXPECT_EQ(refusal([&] { t.g.window(t.w, -1, 0, 1); }), "window of 'w': no axis -1, the tensor has 2");
  EXPECT_EQ(refusal([&] { t.g.window(t.x, 0, 0, 1); }), "window of 'x': axis 'tokens' is live and cannot be cut");
  EXPECT_EQ(refusal([&] { t.g.window(t.w, 0, 4, 3); }), "window of 'w': [4, 4 + 3) leaves axis 'rows' of 6");
  EXPECT_EQ(refusal([&] { t.g.window(t.w, 0, -1, 3); }), "window of 'w': [-1, -1 + 3) leaves axis 'rows' of 6");
  EXPECT_EQ(refusal([&] { t.g.window(t.w, 0, INT64_MAX, INT64_MAX); }),
            "window of 'w': [9223372036854775807, 9223372036854775807 + 9223372036854775807) leaves axis 'rows' of 6");
  EXPECT_EQ(refusal([&] { t.g.window(value(), 0, 0, 1); }), "window: no value was given, graph 'g'");
  small other;
  EXPECT_EQ(refusal([&] { t.g.window(other.w, 0, 0, 1); }), "window: the value belongs to another graph, graph 'g'");
}

TEST(graph, outputs) {
  small t;
  auto const y = t.g.add<toy::map>("map", {}, {t.x})[0];
  EXPECT_EQ(refusal([&] { t.g.output("x", y); }), "output 'x': the name is taken by another leaf or output");
  EXPECT_EQ(refusal([&] { t.g.output("", y); }), "output without a name");
  EXPECT_EQ(refusal([&] { t.g.output("y", t.s); }), "output 'y': 's' is a state, expected the result of a node");
  EXPECT_EQ(refusal([&] { t.g.output("y", t.g.window(y, 1, 0, 2)); }),
            "output 'y': 'map.y[width 0:2]' is a window, expected the result of a node");
  EXPECT_EQ(refusal([&] { t.g.output("y", value()); }), "output 'y': no value was given, graph 'g'");
  small other;
  EXPECT_EQ(refusal([&] { t.g.output("y", other.x); }), "output 'y': the value belongs to another graph, graph 'g'");
  t.g.output("y", y);
  EXPECT_EQ(t.g[y].output, "y");
  EXPECT_EQ(refusal([&] { t.g.output("again", y); }), "output 'again': 'map.y' is already output 'y'");
}

TEST(graph, nodes_refused) {
  small t;
  t.g.add<toy::map>("map", {}, {t.x});
  EXPECT_EQ(refusal([&] { t.g.add<toy::map>("map", {}, {t.x}); }),
            "node 'map' (map): the name is taken by another node");
  EXPECT_EQ(refusal([&] { t.g.add<toy::map>("b", {}, {}); }),
            "node 'b' (map): operand 'x': no value was given, graph 'g'");
  small other;
  EXPECT_EQ(refusal([&] { t.g.add<toy::map>("b", {}, {other.x}); }),
            "node 'b' (map): operand 'x': the value belongs to another graph, graph 'g'");
  EXPECT_EQ(refusal([&] { t.g.add<toy::map>("b", {}, {t.x, t.x}); }),
            "node 'b' (map): 2 operands given, it takes at most 1");
  EXPECT_EQ(refusal([&] { t.g.add("b", operation_of<toy::map>, {}, {t.x}); }),
            "node 'b' (map): 0 bytes of arguments, expected 4");
  EXPECT_EQ(refusal([&] { t.g.add<toy::map>("b", {}, {t.x}, {0}); }), "node 'b' (map): slot 0 is not an output");
  EXPECT_EQ(refusal([&] { t.g.add<toy::map>("b", {}, {t.x}, {7}); }), "node 'b' (map): slot 7 is not an output");
  EXPECT_EQ(t.g.nodes().size(), 1u);
}

TEST(graph, only_states_are_updated) {
  small t;
  EXPECT_EQ(refusal([&] { t.g.add<toy::put>("put", {}, {t.x, t.w}); }),
            "node 'put' (put): s is updated in place: tensor 'w' is a constant, expected a state");
  EXPECT_EQ(refusal([&] { t.g.add<toy::put>("put", {}, {t.x, t.g.window(t.w, 0, 0, 1)}); }),
            "node 'put' (put): s is updated in place: tensor 'w[rows 0:1]' is a window, expected a state");
  t.g.add<toy::put>("put", {}, {t.x, t.g.window(t.s, 0, 0, 1)});
}

TEST(graph, operations_refuse_with_names) {
  small t;
  auto const narrow = t.g.window(t.x, 1, 0, 3);
  auto const text = refusal([&] { t.g.add<toy::put>("put", {}, {narrow, t.s}); });
  for (auto const* part : {"node 'put'", "(put)", "'s'", "axis 1 'width' is 4", "expected 3"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  EXPECT_TRUE(t.g.nodes().empty());
}

TEST(graph, results_take_axes_and_names) {
  small t;
  auto const y = t.g.add<toy::mix>("mix", {}, {t.x})[0];
  EXPECT_EQ(t.g[y].labels.name, "mix.y");
  EXPECT_EQ(t.g[y].labels.axes[0], "tokens");
  EXPECT_EQ(t.g[y].producer, 0);
  EXPECT_EQ(t.g.nodes()[0].operands, (std::vector<std::int32_t>{t.x.index(), -1, y.index()}));
  EXPECT_EQ(t.g.operands_of(t.g.nodes()[0])[1], absent);
}

} // namespace
} // namespace mk
