/// What attention and kv_append refuse, and that they stay in their memory where nobody refuses.

#include <megakernels/ops/attention/attention.hpp>
#include <megakernels/ops/kv_append/kv_append.hpp>

#include "paged.hpp"

#include <sys/mman.h>

namespace mk {
namespace {

using kit::paged_batch;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The case of a pool of 4 blocks of 16 tokens and tables of 2 columns.
struct small_pool {
  kit::tensor q = kit::uniform(data_type::bf16, {2, 8}, 1);
  kit::tensor cache = kit::uniform(data_type::bf16, {4, 16, 1, 8}, 2);
  kit::tensor sequence = kit::values(data_type::int32, {2}, {0, 1});
  kit::tensor position = kit::values(data_type::int32, {2}, {31, 3});
  kit::tensor length = kit::values(data_type::int32, {2}, {32, 4});
  kit::tensor block_table = kit::values(data_type::int32, {2, 2}, {3, 0, 2, 1 << 30});

  kit::node<attention> make() const {
    return {{.head_dim = 8},
            {{attention::q, q},
             {attention::k_cache, cache},
             {attention::v_cache, cache},
             {attention::sequence, sequence},
             {attention::position, position},
             {attention::length, length},
             {attention::block_table, block_table}},
            {attention::lse}};
  }
  std::string refused() const {
    auto const n = make();
    n.run(); // whatever the contents are, memory stays intact
    return kit::message_of<submit_error>([&] { n.check(); });
  }
};

TEST(attention, check_of_contents) {
  small_pool p;
  p.make().check();
  p.block_table.set(3, 1, 0); // a block of two sequences
  p.make().check();

  p.length.set(33, 0);
  kit::expect_mentions(p.refused(), {"attention", "length of sequence 0 is 33", "0 to 32"});
  p.length.set(-1, 0);
  kit::expect_mentions(p.refused(), {"length of sequence 0 is -1"});
  p.length.set(32, 0);
  for (double block : {-1.0, 4.0, 1073741824.0}) {
    p.block_table.set(block, 0, 1);
    kit::expect_mentions(p.refused(), {"block_table of sequence 0, column 1 is", "0 to 3"});
    p.length.set(16, 0);
    p.make().check(); // not needed, so not looked at
    p.length.set(32, 0);
  }
  p.block_table.set(0, 0, 1);
  for (int sequence : {-2, 2, 1 << 30}) {
    p.sequence.set(sequence, 1);
    kit::expect_mentions(p.refused(), {"sequence of row 1 is " + std::to_string(sequence), "to 1"});
  }
  p.sequence.set(-1, 1);
  p.make().check();
  // Contents that the host cannot see are not looked at.
  auto const n = p.make();
  auto views = n.views();
  views[attention::length].data = nullptr;
  views[attention::block_table].data = nullptr;
  views[attention::sequence].data = nullptr;
  attention::check({}, views);
}

TEST(attention, unchecked_contents_stay_in_memory) {
  kit::random numbers(7);
  auto const strange = [&](std::int64_t limit) {
    std::int64_t const choices[] = {-1, limit, limit + 1, INT32_MAX, INT32_MIN, numbers.integer(0, limit)};
    return static_cast<double>(choices[numbers.integer(0, 5)]);
  };
  for (int turn = 0; turn < 500; ++turn) {
    small_pool p;
    for (int i = 0; i < 2; ++i) {
      p.sequence.set(strange(2), i);
      p.position.set(strange(32), i);
      p.length.set(strange(32), i);
      for (int j = 0; j < 2; ++j) p.block_table.set(strange(4), i, j);
    }
    auto n = p.make();
    n.run({.rows = 1});
    for (double value : n[attention::o].numbers()) EXPECT_FALSE(std::isnan(value));
    n.run({.oracle = true});
  }
}

TEST(attention, keys_of_a_block_that_does_not_exist_are_not_seen) {
  small_pool p;
  auto n = p.make();
  p.block_table.set(-1, 0, 0);
  p.position.set(15, 0);
  n.run();
  EXPECT_EQ(n[attention::lse].get(0, 0), -infinity);
  EXPECT_EQ(n[attention::o].get(0, 0), 0);
}

TEST(attention, refused_shapes_and_arguments) {
  paged_batch const b({.heads = 8, .kv_heads = 4, .head_dim = 16}, {{2, 20}}, data_type::bf16);
  auto const good = b.arguments(1);
  auto const refused = [&](attention::arguments const& a) { return kit::refusal<attention>(a, b.operands()); };
  auto a = good;
  a.heads = 0;
  kit::expect_mentions(refused(a), {"heads is 0"});
  a.heads = INT32_MAX;
  a.head_dim = 1024;
  kit::expect_mentions(refused(a), {"2199023254528"});
  for (int head_dim : {0, -1, 1025, INT32_MIN}) {
    a = good;
    a.head_dim = head_dim;
    kit::expect_mentions(refused(a), {"head_dim is", "1 to 1024"});
  }
  a = good;
  a.causal = 2;
  kit::expect_mentions(refused(a), {"causal is 2"});
  a = good;
  a.splits = 0;
  kit::expect_mentions(refused(a), {"splits is 0", "1 to 1024"});
  a.splits = 2;
  kit::expect_mentions(refused(a), {"needs the output lse"});
  a = good;
  a.scale = NAN;
  kit::expect_mentions(refused(a), {"scale is nan"});
  a = good;
  a.type = static_cast<data_type>(77);
  kit::expect_mentions(refused(a), {"type is 77"});

  paged_batch const uneven({.heads = 8, .kv_heads = 3, .head_dim = 16}, {{2, 20}}, data_type::bf16);
  kit::expect_mentions(kit::refusal<attention>(uneven.arguments(1), uneven.operands()),
                       {"heads is 8", "multiple of the 3 kv_heads"});
  auto const with = [&](int slot, kit::tensor const& t) {
    auto operands = b.operands();
    operands[static_cast<std::size_t>(slot)].second = t;
    return kit::refusal<attention>(good, operands);
  };
  kit::expect_mentions(with(attention::q, kit::blank(data_type::bf16, {2, 127})), {"q: axis 1", "127", "128"});
  kit::expect_mentions(with(attention::q, kit::blank(data_type::int32, {2, 128})), {"q: has data type int32"});
  kit::expect_mentions(with(attention::v_cache, b.v.slice(1, 0, 8)), {"v_cache: axis 1", "8", "16"});
  kit::expect_mentions(with(attention::k_cache, b.k.slice(2, 0, 0)), {"k_cache: axis 2", "0", "at least 1"});
  kit::expect_mentions(with(attention::k_cache, b.k.live(1, 3)), {"k_cache: axis 1", "live"});
  kit::expect_mentions(with(attention::sequence, kit::blank(data_type::fp32, {2})), {"sequence", "fp32", "int32"});
  kit::expect_mentions(with(attention::position, kit::blank(data_type::int32, {3})), {"position: axis 0", "3", "2"});
  kit::expect_mentions(with(attention::length, kit::blank(data_type::int32, {2})), {"length: axis 0", "2", "1"});
  auto huge = b.k;
  huge.desc.extents[0].capacity = std::int64_t{1} << 60;
  kit::expect_mentions(with(attention::k_cache, huge), {"v_cache: axis 0"});
}

TEST(attention, any_bits_as_arguments) {
  paged_batch const b({.heads = 8, .kv_heads = 4, .head_dim = 16}, {{2, 20}}, data_type::bf16);
  kit::random numbers(11);
  int accepted = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    auto a = b.arguments(1);
    std::uint32_t words[6];
    static_assert(sizeof words == sizeof a);
    std::memcpy(words, &a, sizeof a);
    for (auto i = numbers.integer(1, 3); i > 0; --i)
      words[numbers.integer(0, 5)] = static_cast<std::uint32_t>(numbers.bits() >> numbers.integer(32, 63));
    std::memcpy(&a, words, sizeof a);
    try {
      b.make(a).run();
      ++accepted;
    } catch (graph_error const&) {
    }
  }
  EXPECT_GT(accepted, 0);
}

/// Address space for 262145 blocks of 16384 elements, of which only those that are touched get memory.
class wide_pool {
public:
  static constexpr std::int64_t blocks = 262145, elements = 16384;
  wide_pool()
      : bytes_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~wide_pool() {
    if (mapped()) munmap(bytes_, size);
  }
  wide_pool(wide_pool const&) = delete;
  wide_pool& operator=(wide_pool const&) = delete;
  bool mapped() const { return bytes_ != MAP_FAILED; }
  std::byte* data() const { return static_cast<std::byte*>(bytes_); }

private:
  static constexpr std::size_t size = static_cast<std::size_t>(blocks * elements) * 2;
  void* bytes_;
};

TEST(attention, blocks_beyond_32_bits_of_elements) {
  wide_pool const keys, values;
  if (!keys.mapped() || !values.mapped()) GTEST_SKIP() << "no address space of 8 GiB";
  paged_batch b({.heads = 8, .kv_heads = 8, .head_dim = 128}, {{2, 60}}, data_type::bf16);
  auto near = b.make(b.arguments(0.1f));
  near.run();

  double const far_blocks[] = {0, 131071, 131072, 262144};
  auto far = b.make(b.arguments(0.1f));
  auto views = far.views();
  auto const table = b.block_table.copy();
  views[attention::block_table] = table.view();
  for (auto const& [slot, pool] : {std::pair(attention::k_cache, &keys), {attention::v_cache, &values}}) {
    for (int i = 0; i < 4; ++i) {
      auto const block = static_cast<std::int64_t>(b.block_table.get(0, i));
      auto const& from = slot == attention::k_cache ? b.k : b.v;
      auto const to = static_cast<std::int64_t>(far_blocks[i]) * wide_pool::elements * 2;
      std::memcpy(pool->data() + to, from.at(block), wide_pool::elements * 2);
      table.set(far_blocks[i], 0, i);
    }
    views[static_cast<std::size_t>(slot)].data = pool->data();
    views[static_cast<std::size_t>(slot)].extents[0] = wide_pool::blocks;
  }
  attention::reference<float>(b.arguments(0.1f), views, {0, 2, 0, 8});
  EXPECT_EQ(far[attention::o].bits(), near[attention::o].bits());
}

} // namespace
} // namespace mk
