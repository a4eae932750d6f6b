#pragma once

/// Kernels that must fail, and how.

#include <megakernels/tylo/emulator/launch.hpp>
#include <megakernels/tylo/emulator/memory.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mk::test {

using namespace tylo;
using emulator::array;
using emulator::contents;
using emulator::fault;
using emulator::fault_kind;
using emulator::grid;
using emulator::launch;
using emulator::options;

template <class T> std::vector<T> contents_of(array<T> const& a) { return {a.span().begin(), a.span().end()}; }

/// Runs a kernel that has a fault of this kind, with seed 0 to 7 until one finds it; checks that the report holds all
/// the words.
template <class Body>
void expect_fault(fault_kind kind, std::initializer_list<char const*> words, grid const& g, Body const& body,
                  options how = {}) {
  for (; how.seed < 8; ++how.seed) {
    try {
      launch(g, how, body);
    } catch (fault const& f) {
      EXPECT_EQ(name_of(f.kind()), name_of(kind)) << f.what();
      for (auto const* const word : words)
        EXPECT_NE(std::string(f.what()).find(word), std::string::npos) << word << " is not in: " << f.what();
      return;
    }
  }
  FAIL() << "no seed found the fault: " << name_of(kind);
}

/// Runs a kernel that is right, with several seeds.
template <class Body> void expect_clean(grid const& g, Body const& body, std::uint64_t seeds = 12) {
  for (options how; how.seed < seeds; ++how.seed) EXPECT_NO_THROW(launch(g, how, body)) << "seed " << how.seed;
}

} // namespace mk::test
