#pragma once

/// Functions that are compiled once for each level of the x86-64 instruction set, so that one binary uses what the
/// machine has. No product and sum are contracted, and sums have a fixed order (rows.hpp): all give the same bits.
/// Elsewhere, and under sanitizers, there is the baseline alone.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define MK_MACHINES 1
#define MK_TARGET_AVX2 __attribute__((target("arch=x86-64-v3")))
#define MK_TARGET_AVX512 __attribute__((target("arch=x86-64-v4")))
#else
#define MK_MACHINES 0
#endif

namespace mk::reference {

enum class machine { baseline, avx2, avx512 };

/// The best level that this machine has, and for which functions are compiled.
inline machine this_machine() {
#if MK_MACHINES
  static machine const best = __builtin_cpu_supports("x86-64-v4")   ? machine::avx512
                              : __builtin_cpu_supports("x86-64-v3") ? machine::avx2
                                                                    : machine::baseline;
  return best;
#else
  return machine::baseline;
#endif
}

} // namespace mk::reference
