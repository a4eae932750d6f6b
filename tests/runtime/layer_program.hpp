#pragma once

/// A small program whose results are exact, for any device.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/graph/operations.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace mk::test {

/// Whole numbers from -3 to 3: sums of products are exact in fp32.
inline std::shared_ptr<tensor> whole_numbers(data_type type, std::initializer_list<std::int64_t> extents,
                                             std::uint64_t seed) {
  auto result = std::make_shared<tensor>(type, extents);
  std::mt19937_64 random(seed);
  tylo::with_type(type, [&]<class T>(T) {
    for (auto& element : result->span<T>()) {
      auto const number = static_cast<int>(random() % 7) - 3;
      if constexpr (std::is_integral_v<T>)
        element = static_cast<T>(number);
      else
        element = T(static_cast<float>(number));
    }
  });
  return result;
}

inline std::vector<std::byte> bytes_of(tensor const& t) { return {t.data(), t.data() + t.size_bytes()}; }

/// A chain of products, norms and sums: exact where it has no norm.
struct layer_program {
  std::int64_t rows = 8;
  std::int64_t width = 96;
  std::int64_t inner = 256;
  bool norm = false;
  data_type type = data_type::bf16;

  program make(std::int64_t workers) const {
    graph g("layer");
    auto const live = g.live("rows", rows);
    axis const w("width", width), i("inner", inner);
    auto const x = g.input("x", data_type::fp32, {live, w});
    auto const h = norm ? build::rms_norm(g, "norm", x, {}) : x;
    auto const a = build::linear(g, "up", h, g.constant("up", type, {i, w}));
    auto const b = build::linear(g, "down", a, g.constant("down", type, {w, i}), {.residual = x});
    g.output("y", build::add(g, "twice", b, b));
    return compile(g, {.workers = workers, .task_seconds = 1e-9}, small_operations);
  }

  void set_constants(session& s) const {
    s.set_constant("up", whole_numbers(type, {inner, width}, 11));
    s.set_constant("down", whole_numbers(type, {width, inner}, 12));
  }

  /// The output for a live number of rows, with guard bytes of 0xFF where nothing may be written.
  tensor run(session& s, program_id p, std::int64_t live, std::uint64_t seed) const {
    auto const x = whole_numbers(data_type::fp32, {live, width}, seed);
    tensor y(data_type::fp32, {live, width});
    std::fill(y.data(), y.data() + y.size_bytes(), std::byte{0xFF});
    s.submit(p, mk::step().live("rows", live).bind("x", x->view()).bind("y", y.view())).wait();
    return y;
  }
};

} // namespace mk::test
