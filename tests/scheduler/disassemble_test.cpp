#include <megakernels/ops/all.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/program/codec.hpp>
#include <megakernels/scheduler/program/disassemble.hpp>

#include "bytes.hpp"
#include "models.hpp"
#include "random_graph.hpp"
#include "toy_operations.hpp"

#include <cstdio>

namespace mk {
namespace {

program small_program() {
  graph g("small");
  auto const x = g.input("x", data_type::fp32, {g.live("tokens", 3), {"columns", 4}});
  auto const s = g.state("s", data_type::fp32, {{"slots", 2}, {"columns", 2}});
  auto const a = g.add<toy::map>("a", {}, {x})[0];
  g.add<toy::put>("put", {}, {g.window(a, 1, 2, 2), s});
  g.output("y", g.add<toy::mix>("b", {}, {a})[0]);
  return compile(g, {.workers = 2, .bytes_per_second = 1, .task_seconds = 1e-9}, toy::list::table);
}

TEST(disassemble, everything) {
  auto p = small_program();
  p.metadata = "model 'x'\n";
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(toy::list::hash));
  EXPECT_EQ(disassemble(p, toy::list::table),
            "program 'small': list " + std::string(hash) + R"(, 3 nodes, 6 records, 2 counters, 2 workers
metadata 'model \'x\'\n'
live 'tokens' <=3
buffer 0 'workspace' workspace, 256 bytes
buffer 1 'x' input, 48 bytes, shape of tensor 0 'x'
buffer 2 's' state, 16 bytes, shape of tensor 1 's'
buffer 3 'y' output, 48 bytes, shape of tensor 4 'b.y'
tensor 0 'x' fp32 ['tokens'<=3, 4] strides [4, 1], 'x' + 0
tensor 1 's' fp32 [2, 2] strides [2, 1], 's' + 0
tensor 2 'a.y' fp32 ['tokens'<=3, 4] strides [4, 1], 'workspace' + 0
tensor 3 'a.y[columns 2:4]' fp32 ['tokens'<=3, 2] strides [4, 1], 'workspace' + 8, window of tensor 2 'a.y' at [0, 2]
tensor 4 'b.y' fp32 ['tokens'<=3, 4] strides [4, 1], 'y' + 0
node 0 'a' map, tiles 3 x 2, arguments 00000000
  x = tensor 0 'x'
  y = tensor 2 'a.y'
node 1 'put' put, tiles 3 x 1, arguments 00000000
  x = tensor 3 'a.y[columns 2:4]'
  s = tensor 1 's'
node 2 'b' mix, tiles 3 x 2, arguments 00000000
  x = tensor 2 'a.y'
  y = tensor 4 'b.y'
worker 0: 3 records from 0
  0: 'a' columns 0, rows 0..1, signals c1 ('b')
  1: 'put' columns 0, rows 0..1, waits c0 (1 'a')
  2: 'b' columns 0, rows 0..1, waits c1 (2 'a')
worker 1: 3 records from 3
  3: 'a' columns 1, rows 0..1, signals c0 ('put'), c1 ('b')
  4: 'put' columns 1, rows 0..1
  5: 'b' columns 1, rows 0..1, waits c1 (2 'a')
)");
}

TEST(disassemble, what_is_out_of_range) {
  auto p = small_program();
  p.list_hash = 0;
  p.buffers[1].kind = static_cast<buffer_kind>(77);
  p.buffers[2].root = 99;
  p.tensors[0].buffer = 99;
  p.tensors[1].desc.rank = 9;
  p.tensors[2].desc.extents[0].live = 5;
  p.tensors[2].desc.type = static_cast<data_type>(99);
  p.tensors[3].base = -5;
  p.nodes[0].operation = 99;
  p.nodes[1].operands = {7, 1, 0};
  p.records[1].node = 99;
  p.records[2].wait[0] = 99;
  p.records[3].signal = 99;
  p.records[5].wait_count = 3;
  p.records[5].wait[0] = UINT32_MAX;
  p.workers[1].count = UINT32_MAX;
  auto const text = disassemble(p, toy::list::table);
  for (auto const* part :
       {"list 0000000000000000 (another one)", "buffer 1 'x' unknown", "shape of tensor 99 ?", "[?] strides []",
        "[?<=3", "'a.y' unknown [", "?, tiles", "tensor 7 ?", "? = tensor 0 'x'", "  1: ? columns", "waits c99 (?)",
        "signals ?", "waits ?", "window of tensor -5 ?", "4294967295 records from 3", "\n  ?\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}

TEST(disassemble, any_bytes) {
  auto const intact = encode(compile(*kit::make_llama({}), {.workers = 3, .task_seconds = 1e-9}, full_operations));
  kit::random r(5);
  std::size_t decoded = 0;
  for (int i = 0; i < 5000; ++i) {
    auto bytes = intact;
    for (auto flips = r.integer(1, 4); flips > 0; --flips)
      bytes[r.index(bytes.size())] ^= static_cast<std::byte>(1u << r.index(8));
    kit::rehash(bytes);
    try {
      auto const p = decode(bytes);
      ++decoded;
      EXPECT_FALSE(disassemble(p, full_operations).empty());
    } catch (program_error const&) {
    }
  }
  EXPECT_GT(decoded, 1000u);
}

} // namespace
} // namespace mk
