/// Tensor maps and the boxes that are loaded through them, against plain loops over what they mean.

#include <megakernels/tylo/emulator/tensor_map.hpp>

#include "kit.hpp"
#include "lane_data.hpp"
#include "lane_kernels.hpp"

#include <algorithm>

namespace mk::test {
namespace {

using emulator::encode_tensor_map;
using emulator::tensor_map_parameters;
using emulator::tensor_swizzle;

constexpr unsigned buffer_bytes = 40000;
constexpr unsigned char untouched = 0xCD;
constexpr unsigned box_offset = 1024; ///< in shared memory, behind the barrier

struct box_arguments {
  tensor_map const* map;
  std::int32_t at[max_tensor_map_rank];
  unsigned rank, bytes, shown;
  std::byte* to;
};

template <unsigned Rank> void load_of_rank(std::byte* to, box_arguments const& g, mbarrier* done) {
  std::int32_t at[Rank];
  for (unsigned i = 0; i < Rank; ++i) at[i] = g.at[i];
  tensor_load(to, g.map, at, done);
}

void load_box(box_arguments const& g) {
  auto* const done = reinterpret_cast<mbarrier*>(shared_memory());
  auto* const box = shared_memory() + box_offset;
  if (thread_rank() == 0) {
    init(done, 1);
    publish_barriers();
  }
  for (auto i = thread_rank(); i < g.shown; i += 32) box[i] = std::byte{untouched};
  fence_async_proxy();
  sync_cta();
  if (thread_rank() == 0) {
    arrive_expecting(done, g.bytes);
    switch (g.rank) {
    case 1:
      load_of_rank<1>(box, g, done);
      break;
    case 2:
      load_of_rank<2>(box, g, done);
      break;
    case 3:
      load_of_rank<3>(box, g, done);
      break;
    case 4:
      load_of_rank<4>(box, g, done);
      break;
    default:
      load_of_rank<5>(box, g, done);
    }
  }
  wait(done, 0);
  for (auto i = thread_rank(); i < g.shown; i += 32) g.to[i] = box[i];
}

unsigned bytes_of_box(tensor_map_parameters const& p) {
  auto bytes = p.element_bytes;
  for (unsigned i = 0; i < p.rank; ++i) bytes *= p.box[i];
  return bytes;
}

std::vector<unsigned char> meaning(tensor_map_parameters const& p, std::vector<unsigned char> const& buffer,
                                   std::vector<std::int32_t> const& at, unsigned shown) {
  std::vector<unsigned char> result(shown, untouched);
  auto const key = (1u << static_cast<unsigned>(p.swizzle)) - 1;
  for (unsigned element = 0; element < bytes_of_box(p) / p.element_bytes; ++element) {
    auto rest = element;
    std::int64_t from = 0;
    bool inside = true;
    for (unsigned axis = 0; axis < p.rank; rest /= p.box[axis], ++axis) {
      auto const i = at[axis] + std::int64_t(rest % p.box[axis]);
      inside = inside && i >= 0 && i < static_cast<std::int64_t>(p.extents[axis]);
      from += i * (axis == 0 ? p.element_bytes : static_cast<std::int64_t>(p.strides[axis - 1]));
    }
    for (unsigned b = 0; b < p.element_bytes; ++b) {
      auto const i = element * p.element_bytes + b;
      result[i ^ (i >> 7 & key) << 4] = inside ? buffer[static_cast<std::size_t>(from) + b] : 0;
    }
  }
  return result;
}

class emulator_tensor_maps : public testing::Test {
protected:
  std::vector<unsigned char> contents_ = any_bits<unsigned char>(buffer_bytes, 11);
  array<unsigned char> buffer_{std::span<unsigned char const>(contents_), "tensor"};
  array<tensor_map> maps_{1, contents::zero, "maps"};

  void put(tensor_map_parameters const& p, bool is_constant = true) {
    maps_[0] = encode_tensor_map(p);
    if (is_constant) emulator::mark_constant(maps_.data(), sizeof(tensor_map));
  }

  box_arguments arguments(tensor_map_parameters const& p, std::vector<std::int32_t> const& at,
                          array<std::byte> const& to) {
    box_arguments g{};
    g.map = maps_.data();
    std::copy(at.begin(), at.end(), g.at);
    g.rank = static_cast<unsigned>(at.size());
    g.bytes = bytes_of_box(p);
    g.shown = static_cast<unsigned>(to.size());
    g.to = to.data();
    return g;
  }

  void check(tensor_map_parameters p, std::vector<std::int32_t> const& at) {
    p.address = buffer_.data();
    put(p);
    array<std::byte> const to(bytes_of_box(p) + 64);
    auto const g = arguments(p, at, to);
    expect_clean({.shared_bytes = box_offset + to.size()}, [g] { load_box(g); }, 3);
    auto const expected = meaning(p, contents_, at, static_cast<unsigned>(to.size()));
    EXPECT_EQ(std::memcmp(to.data(), expected.data(), expected.size()), 0)
        << p.rank << " axes of " << p.element_bytes << " bytes, swizzle " << static_cast<int>(p.swizzle) << ", at "
        << at[0];
  }

  tensor_map_parameters matrix() const {
    return {.element_bytes = 2,
            .rank = 2,
            .address = buffer_.data(),
            .extents = {72, 100},
            .strides = {144},
            .box = {64, 64},
            .swizzle = tensor_swizzle::bytes_128};
  }
};

TEST_F(emulator_tensor_maps, boxes_are_what_they_mean) {
  using enum tensor_swizzle;
  auto const m = [](unsigned size, std::uint64_t columns, std::uint64_t rows, std::uint64_t stride,
                    std::uint32_t box_columns, std::uint32_t box_rows, tensor_swizzle s) {
    return tensor_map_parameters{.element_bytes = size,
                                 .rank = 2,
                                 .address = nullptr,
                                 .extents = {columns, rows},
                                 .strides = {stride},
                                 .box = {box_columns, box_rows},
                                 .swizzle = s};
  };
  for (auto const& p :
       {m(2, 72, 100, 144, 64, 64, bytes_128), m(2, 72, 100, 160, 32, 40, bytes_64),
        m(2, 71, 99, 144, 16, 18, bytes_32), m(2, 70, 100, 176, 24, 9, none), m(4, 67, 90, 272, 32, 24, bytes_128),
        m(1, 150, 200, 160, 128, 128, bytes_128), m(8, 20, 30, 160, 4, 5, none), m(2, 72, 100, 144, 32, 8, bytes_128)})
    for (int chunk : {0, 1, -1, 8, -8, 100})
      for (std::int32_t row : {0, 5, -3, 95, 300}) check(p, {chunk * 16 / static_cast<int>(p.element_bytes), row});
  check({.element_bytes = 2, .rank = 1, .extents = {1000}, .box = {64}, .swizzle = none}, {960});
  check({.element_bytes = 2,
         .rank = 3,
         .extents = {72, 20, 5},
         .strides = {160, 3200},
         .box = {64, 8, 2},
         .swizzle = bytes_128},
        {8, 15, -1});
  check({.element_bytes = 4,
         .rank = 5,
         .extents = {8, 3, 4, 5, 6},
         .strides = {32, 96, 400, 2000},
         .box = {8, 2, 3, 2, 2},
         .swizzle = none},
        {4, -1, 2, 4, 5});
}

TEST_F(emulator_tensor_maps, what_the_driver_refuses) {
  auto const refused = [&](auto change, char const* word) {
    auto p = matrix();
    change(p);
    try {
      (void)encode_tensor_map(p);
      ADD_FAILURE() << word << " is taken";
    } catch (std::invalid_argument const& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  EXPECT_NO_THROW((void)encode_tensor_map(matrix()));
  refused([](auto& p) { p.element_bytes = 3; }, "elements of 3 bytes");
  refused([](auto& p) { p.rank = 0; }, "0 axes");
  refused([](auto& p) { p.rank = 6; }, "6 axes");
  refused([](auto& p) { p.address = static_cast<std::byte const*>(p.address) + 8; }, "address");
  refused([](auto& p) { p.extents[1] = 0; }, "axis 1: 0 elements");
  refused([](auto& p) { p.extents[0] = (std::uint64_t(1) << 32) + 1; }, "axis 0");
  refused([](auto& p) { p.strides[0] = 152; }, "152 bytes");
  refused([](auto& p) { p.strides[0] = std::uint64_t(1) << 40; }, "below 2^40");
  refused([](auto& p) { p.box[1] = 257; }, "257 elements of a box");
  refused([](auto& p) { p.box[1] = 0; }, "0 elements of a box");
  refused([](auto& p) { p.box[0] = 60; }, "120 bytes");
  refused([](auto& p) { p.box[0] = 72; }, "the 128 of the swizzle");
  refused([](auto& p) { p.swizzle = tensor_swizzle::bytes_64; }, "the 64 of the swizzle");
}

// --- faults

/// Thread 0 loads a box of the map, in one of many wrong ways.
template <class Load> auto box_load(Load load) {
  return [load] {
    auto* const done = reinterpret_cast<mbarrier*>(shared_memory());
    if (thread_rank() == 0) {
      init(done, 1);
      publish_barriers();
    }
    sync_cta();
    if (thread_rank() == 0) {
      arrive_expecting(done, 8192);
      load(shared_memory() + box_offset, done);
    }
    wait(done, 0);
  };
}

constexpr grid one_box{.threads = 32, .shared_bytes = box_offset + 8192};

TEST_F(emulator_tensor_maps, faults_of_a_load) {
  put(matrix());
  auto const fails = [&](fault_kind kind, std::initializer_list<char const*> words, auto load) {
    expect_fault(kind, words, one_box,
                 box_load([load, map = maps_.data()](std::byte* to, mbarrier* done) { load(to, map, done); }));
  };
  using map_pointer = tensor_map const*;
  fails(fault_kind::alignment, {"tensor_load", "element 3 of 2 bytes", "multiple of 16 bytes", "tensor_map_test.cpp"},
        [](std::byte* to, map_pointer map, mbarrier* done) { tensor_load(to, map, {3, 0}, done); });
  fails(fault_kind::alignment, {"tensor_load", "multiple of 1024", "tensor_map_test.cpp"},
        [](std::byte* to, map_pointer map, mbarrier* done) { tensor_load(to - 128, map, {0, 0}, done); });
  fails(fault_kind::descriptor, {"3 coordinates", "has 2 axes", "tensor_map_test.cpp"},
        [](std::byte* to, map_pointer map, mbarrier* done) { tensor_load(to, map, {0, 0, 0}, done); });
  fails(fault_kind::bounds, {"tensor_load from", "of the 9216 bytes", "tensor_map_test.cpp"},
        [](std::byte* to, map_pointer map, mbarrier* done) { tensor_load(to + 1024, map, {0, 0}, done); });
  fails(fault_kind::misuse, {"tensor_load", "mbarrier", "tensor_map_test.cpp"},
        [](std::byte* to, map_pointer map, mbarrier* done) { tensor_load(to, map, {0, 0}, done + 1); });
}

TEST_F(emulator_tensor_maps, bytes_that_are_no_map) {
  emulator::mark_constant(maps_.data(), sizeof(tensor_map));
  expect_fault(fault_kind::descriptor, {"tensor_load", "'maps'", "is no tensor map", "tensor_map_test.cpp"}, one_box,
               box_load([map = maps_.data()](std::byte* to, mbarrier* done) { tensor_load(to, map, {0, 0}, done); }));
}

TEST_F(emulator_tensor_maps, a_tensor_that_is_not_all_there) {
  auto p = matrix();
  p.extents[1] = 1000;
  put(p);
  expect_fault(fault_kind::bounds,
               {"tensor_load from", "past the end of global memory 'tensor'", "tensor_map_test.cpp"}, one_box,
               box_load([map = maps_.data()](std::byte* to, mbarrier* done) { tensor_load(to, map, {0, 250}, done); }));
}

TEST_F(emulator_tensor_maps, a_map_that_may_be_written_is_acquired_first) {
  put(matrix(), false);
  auto const load = [map = maps_.data()](bool acquires) {
    return [map, acquires](std::byte* to, mbarrier* done) {
      if (acquires) acquire_tensor_map(map);
      tensor_load(to, map, {0, 0}, done);
    };
  };
  expect_clean(one_box, box_load(load(true)));
  expect_fault(fault_kind::proxy, {"tensor_load", "'maps'", "acquire_tensor_map", "tensor_map_test.cpp"}, one_box,
               box_load(load(false)));
}

TEST_F(emulator_tensor_maps, a_map_that_is_written_again_is_acquired_again) {
  array<tensor_map> const others(1, contents::zero);
  auto p = matrix();
  put(p, false);
  p.extents[1] = 50;
  others[0] = encode_tensor_map(p);
  auto const load = [map = maps_.data(), other = others.data()](bool acquires) {
    return [=](std::byte* to, mbarrier* done) {
      acquire_tensor_map(map);
      *map = *other;
      if (acquires) acquire_tensor_map(map);
      tensor_load(to, map, {0, 0}, done);
    };
  };
  expect_fault(fault_kind::proxy, {"tensor_load", "was written again", "acquire_tensor_map", "tensor_map_test.cpp"},
               one_box, box_load(load(false)));
  put(matrix(), false);
  expect_clean(one_box, box_load(load(true)), 1);
}

} // namespace
} // namespace mk::test
