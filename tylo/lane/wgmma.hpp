#pragma once

/// Products of a warpgroup: 64 x N x 16, bf16 in, fp32 sums, both factors in shared memory. PTX ISA: wgmma (sm_90a).
///
/// The order of calls, each by all 128 threads of a warpgroup:
///
///     fence_products();
///     multiply(sums, a, b, false);   // asynchronous; more of them follow
///     commit_products();
///     await_products<0>(sums);       // now `sums` hold their values

#include <megakernels/tylo/emulator/lane.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <cstdint>

namespace tylo {

/// Threads of a warpgroup, and rows of its product.
inline constexpr unsigned warpgroup_size = 128;
inline constexpr unsigned product_rows = 64;
/// Elements along the inner axis that one product takes.
inline constexpr unsigned product_depth = 16;

/// A thread's part of a 64 x N matrix of sums, N being 8 or 64. Value i of thread t of the warpgroup is the element at
/// (accumulator_row(t, i), accumulator_column(t, i)).
template <unsigned N> struct accumulator {
  float values[N / 2];
};

TYLO_FN constexpr unsigned accumulator_row(unsigned thread, unsigned i) {
  return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
}
TYLO_FN constexpr unsigned accumulator_column(unsigned thread, unsigned i) {
  return i / 4 * 8 + thread % 4 * 2 + i % 2;
}

/// Sixteen columns of a factor in shared memory, as the tensor cores read them.
struct shared_factor {
  std::uint64_t bits;
};

/// Columns `column` to `column` + 15 (a multiple of 16, below 64) of a tile of bf16 at a multiple of 1024 bytes. Its
/// rows, those of A or of the transposed B, have 64 elements, 128 bytes, and lie one after another, swizzled: byte i of
/// the tile is at i ^ (i >> 7 & 7) << 4, where a tensor map with a swizzle of 128 bytes puts it.
TYLO_FN inline shared_factor factor_of(void const* tile, unsigned column, site at = site::here()) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t(1) << 62, eight_rows = 1024 >> 4;
  auto const address = TYLO_EITHER(static_cast<std::uint32_t>(__cvta_generic_to_shared(tile)) + column * 2,
                                   emulator::factor_address(tile, column, at));
  return {swizzle_128 | eight_rows << 32 | (address & 0x3FFFFu) >> 4};
}

/// After the program has touched sums and before the next product that writes them: before the first one, and again
/// after each wait that gave them back. The warpgroup's registers are what the program says. Factors that threads wrote
/// need `fence_async_proxy` and a barrier as well. Scalar meaning: nothing.
TYLO_FN inline void fence_products(site at = site::here()) {
  TYLO_EITHER(asm volatile("wgmma.fence.sync.aligned;" :: : "memory"), emulator::fence_products(at));
}

/// The products since the last call are one group. Scalar meaning: nothing.
TYLO_FN inline void commit_products(site at = site::here()) {
  TYLO_EITHER(asm volatile("wgmma.commit_group.sync.aligned;" :: : "memory"), emulator::commit_products(at));
}

/// All groups but the last `Pending` are done: their factors may be overwritten, and `sums` be used where all products
/// that write them are in those groups. It gives back the sums that it names and no others: those of each product need
/// a call of their own, also where one before has waited for as much. Scalar meaning: nothing.
template <unsigned Pending, unsigned N> TYLO_FN void await_products(accumulator<N>& sums, site at = site::here()) {
#if defined(__CUDA_ARCH__)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
  for (auto& value : sums.values) asm volatile("" : "+f"(value)::"memory"); // no use of them moves up past the wait
#else
  emulator::await_products(Pending, sums.values, N, at);
#endif
}

/// Scalar meaning: for m below 64, n below N:
///     sums(m, n) = (accumulate ? sums(m, n) : 0) + a(m, 0) * b(n, 0) + ... + a(m, 15) * b(n, 15)
/// where products are exact and the order and rounding of the sums are the tensor core's own: exact as long as all
/// partial sums are whole numbers below 2^24. `sums` hold some values also where they are not added to: registers that
/// were never written count as in use from the start of the kernel on, in every other branch of it as well.
TYLO_FN inline void multiply(accumulator<8>& sums, shared_factor a, shared_factor b, bool accumulate,
                             site at = site::here()) {
#if defined(__CUDA_ARCH__)
  auto& d = sums.values;
  auto const keep = static_cast<std::uint32_t>(accumulate);
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %6, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3}, "
               "%4, %5, p, 1, 1, 0, 0;\n"
               "}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(a.bits), "l"(b.bits), "r"(keep));
#else
  emulator::multiply(sums.values, 8, a.bits, b.bits, accumulate, at);
#endif
}

TYLO_FN inline void multiply(accumulator<64>& sums, shared_factor a, shared_factor b, bool accumulate,
                             site at = site::here()) {
#if defined(__CUDA_ARCH__)
  auto& d = sums.values;
  auto const keep = static_cast<std::uint32_t>(accumulate);
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "%32, %33, p, 1, 1, 0, 0;\n"
               "}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "l"(a.bits), "l"(b.bits), "r"(keep));
#else
  emulator::multiply(sums.values, 64, a.bits, b.bits, accumulate, at);
#endif
}

} // namespace tylo
