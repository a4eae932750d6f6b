#include <megakernels/ops/error.hpp>

#include <cstdio>

int main() {
  try {
    throw mk::graph_error("caught");
  } catch (mk::error const& error) {
    std::puts(error.what());
  }
}
