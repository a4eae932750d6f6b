#pragma once

/// Runs the cases of fragment_kernels.hpp in the emulator.

#include "fragment_checks.hpp"
#include "kit.hpp"

#include <utility>
#include <vector>

namespace mk::test {

struct on_emulator {
  template <class T> struct array : emulator::array<T> {
    explicit array(std::vector<T> const& values) : emulator::array<T>(std::span<T const>(values)) {}
    [[nodiscard]] std::vector<T> fetch() const { return {this->span().begin(), this->span().end()}; }
  };

  /// From now on no kernel may read the element.
  template <class T> void hide(T* element) const { emulator::mark_unwritten(element, sizeof(T)); }

  /// The outputs: those of reductions in one meeting of the lanes have the same bits as instruction by instruction.
  template <class Case> std::vector<typename Case::output> run(typename Case::arguments g) const {
    std::vector<typename Case::output> found[2];
    for (bool const batched : {false, true}) {
      emulator::array<typename Case::output> const out(Case::outputs);
      g.out = out.data();
      launch(
          {.ctas = Case::ctas, .threads = Case::threads, .shared_bytes = Case::shared_bytes, .cluster = Case::cluster},
          {.seed = batched ? 3u : 0u, .batched = batched}, [g] { Case::run(g); });
      found[batched].assign(out.span().begin(), out.span().end());
    }
    EXPECT_EQ(std::memcmp(found[0].data(), found[1].data(), Case::outputs * sizeof(typename Case::output)), 0);
    return std::move(found[0]);
  }
};

} // namespace mk::test
