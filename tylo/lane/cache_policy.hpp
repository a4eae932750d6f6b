#pragma once

/// What the L2 cache does with what is stored. PTX ISA: createpolicy, st with L2::cache_hint (sm_80).

#include <megakernels/tylo/target.hpp>

#include <cstdint>

namespace tylo {

/// How soon lines leave the L2 cache. A hint: results are the same.
class cache_policy {
public:
  /// `leaves_first`: before all others, as fits what is so large that nobody finds it there; else in turn.
  TYLO_FN explicit cache_policy([[maybe_unused]] bool leaves_first) {
#if defined(__CUDA_ARCH__)
    std::uint64_t first, normal;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(normal));
    word_ = leaves_first ? first : normal;
#endif
  }

  /// Stores 16 bytes to global memory, at a multiple of 16.
  template <class Vector> TYLO_FN void store(Vector* to, Vector const& value) const {
    static_assert(sizeof(Vector) == 16 && alignof(Vector) == 16);
#if defined(__CUDA_ARCH__)
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(value.words[0]), "r"(value.words[1]), "r"(value.words[2]), "r"(value.words[3]), "l"(word_)
                 : "memory");
#else
    *to = value;
#endif
  }

private:
#if defined(__CUDA_ARCH__)
  std::uint64_t word_;
#endif
};

} // namespace tylo
