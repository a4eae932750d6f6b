#include <megakernels/scheduler/graph/dump.hpp>

#include "kit.hpp"
#include "toy_operations.hpp"

namespace mk {
namespace {

/// All that a dump can show.
struct fixture {
  graph g{"it's a \"graph\""};
  fixture() {
    auto const tokens = g.live("tokens", 8);
    auto const x = g.input("x", data_type::bf16, {tokens, {"width", 4}}, {6, 1});
    auto const s = g.state("cache", data_type::bf16, {{"slots", 3}, {"width", 2}});
    auto const a = g.add<toy::map>("a", {}, {x})[0];
    auto const left = g.window(a, 1, 0, 2);
    g.add<toy::put>("put", {}, {left, s});
    g.output("y", g.add<toy::mix>("mix", {}, {left})[0]);
  }
};

TEST(dump, text) {
  EXPECT_EQ(to_text(fixture().g), R"(graph 'it\'s a "graph"'
live 'tokens' <=8
input 'x' bf16 [tokens<=8, width=4] strides [6, 1]
state 'cache' bf16 [slots=3, width=2]
node 'a' map
  x    'x' bf16 [tokens<=8, width=4] strides [6, 1]
  y -> 'a.y' bf16 [tokens<=8, width=4]
node 'put' put
  x    'a.y[width 0:2]' bf16 [tokens<=8, width=2]
  s <> 'cache' bf16 [slots=3, width=2]
node 'mix' mix
  x    'a.y[width 0:2]' bf16 [tokens<=8, width=2]
  y -> 'mix.y' bf16 [tokens<=8, width=2], output 'y'
)");
}

TEST(dump, dot) {
  EXPECT_EQ(to_dot(fixture().g), R"(digraph "it's a \"graph\"" {
  v0 [shape=box, label="input x\nbf16 [tokens<=8, width=4] strides [6, 1]"];
  v1 [shape=box, label="state cache\nbf16 [slots=3, width=2]"];
  v2 [shape=box, label="result a.y\nbf16 [tokens<=8, width=4]"];
  v3 [shape=box, label="window a.y[width 0:2]\nbf16 [tokens<=8, width=2]"];
  v2 -> v3 [style=dashed];
  v4 [shape=box, label="result mix.y\nbf16 [tokens<=8, width=2]\noutput y", penwidth=2];
  n0 [label="a\nmap"];
  v0 -> n0 [label="x"];
  n0 -> v2 [label="y"];
  n1 [label="put\nput"];
  v3 -> n1 [label="x"];
  v1 -> n1 [label="s", dir=both];
  n2 [label="mix\nmix"];
  v3 -> n2 [label="x"];
  n2 -> v4 [label="y"];
}
)");
}

TEST(dump, names_cannot_break_out) {
  graph g("\\\"; }\n");
  g.input("a\"b\\", data_type::fp32, {{"quote\"", 1}});
  auto const dot = to_dot(g);
  EXPECT_NE(dot.find(R"(digraph "\\\"; }\n" {)"), std::string::npos) << dot;
  EXPECT_NE(dot.find(R"(label="input a\"b\\\nfp32 [quote\"=1]")"), std::string::npos) << dot;
  EXPECT_NE(to_text(g).find(R"(input 'a"b\\' fp32)"), std::string::npos);
}

} // namespace
} // namespace mk
