#pragma once

/// Runs cases of lists on a GPU.

#include "fragments.hpp"
#include "gpu_array.hpp"

#include <type_traits>
#include <vector>

namespace mk::test {

template <class Case, class... Cases> constexpr std::size_t index_in(case_list<Cases...>) {
  std::size_t index = 0;
  (void)((std::is_same_v<Case, Cases> || (++index, false)) || ...);
  return index;
}

template <class List> struct on_gpu {
  template <class T> using array = gpu_array<T>;

  template <class Case> std::vector<typename Case::output> run(typename Case::arguments g) const {
    gpu_array<typename Case::output> const out(Case::outputs);
    g.out = out.data();
    EXPECT_EQ(starts_of<List>()[index_in<Case>(List{})](&g), cudaSuccess);
    return out.fetch();
  }

  /// Nobody sees who reads what.
  template <class T> void hide(T*) const {}
};

} // namespace mk::test
