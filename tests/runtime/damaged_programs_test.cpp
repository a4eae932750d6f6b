/// Programs with flipped bits, whose hash someone has made right again: a session refuses them, or runs them and is
/// well.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>

#include "../scheduler/bytes.hpp"
#include "../scheduler/kit.hpp"
#include "../scheduler/models.hpp"

namespace mk {
namespace {

std::vector<std::byte> intact_bytes() {
  auto const g =
      kit::make_llama({.hidden = 8, .heads = 2, .kv_heads = 1, .feed_forward = 32, .vocabulary = 20, .splits = 2});
  return encode(compile(*g, {.workers = 2, .bytes_per_second = 1, .task_seconds = 1e-9}, full_operations));
}

/// Zeros for all that the program wants, and one row: two would have the same place in the cache.
void run_on_zeros(session& s, program const& p) {
  auto const id = s.load(p);
  step submitted;
  std::vector<std::int64_t> live;
  for (auto const& axis : p.live_axes) {
    live.push_back(1);
    submitted.live(axis.name, 1);
  }
  std::vector<std::unique_ptr<std::byte[]>> memory;
  for (auto const& b : p.buffers) {
    if (b.kind == buffer_kind::workspace || b.kind == buffer_kind::state) continue;
    auto const& desc = p.tensors[static_cast<std::size_t>(b.root)].desc;
    auto const& bytes = memory.emplace_back(std::make_unique<std::byte[]>(b.bytes));
    auto const view = view_of(desc, bytes.get(), live.data());
    if (b.kind == buffer_kind::constant)
      s.set_constant(b.name, std::make_shared<tensor const>(
                                 desc.type, std::span(view.extents).first(static_cast<std::size_t>(desc.rank))));
    else if (b.kind == buffer_kind::step)
      submitted.values(b.name, view);
    else
      submitted.bind(b.name, view);
  }
  s.submit(id, submitted).wait();
}

TEST(damaged_programs, are_refused_or_harmless) {
  auto const intact = intact_bytes();
  constexpr int tried = kit::sanitized ? 1000 : 5000;
  kit::random r(9);
  int ran = 0;
  for (int i = 0; i < tried; ++i) {
    SCOPED_TRACE(i);
    auto damaged = intact;
    damaged[kit::header_bytes + r.index(intact.size() - kit::header_bytes)] ^= static_cast<std::byte>(1u << r.index(8));
    kit::rehash(damaged);
    session s(host_device{}, full_operations);
    try {
      auto const p = decode(damaged);
      if (std::any_of(p.buffers.begin(), p.buffers.end(), [](auto const& b) { return b.bytes > 1 << 20; })) continue;
      run_on_zeros(s, p);
      ++ran;
    } catch (program_error const&) { // by decode and verify
    } catch (submit_error const&) {  // by strides that a constant does not have, and the like
    }
    EXPECT_TRUE(s.status().failure.empty()) << s.status().failure;
  }
  EXPECT_GT(ran, tried / 10);
}

} // namespace
} // namespace mk
