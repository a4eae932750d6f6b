#pragma once

/// What the tests of operations share: tensors in guarded memory, a node that runs an operation over any cut of its
/// grid, and comparisons.
///
///     kit::tensor x = kit::integers(data_type::bf16, {5, 33}, -3, 3, 1);      // seed 1
///     kit::node<rms_norm> node({.epsilon = 0, .type = data_type::bf16}, {{rms_norm::x, x}});
///     node.run({.rows = 2});                                                  // tasks of 2 rows
///     EXPECT_EQ(node[rms_norm::y].get(0, 0), 1.0);
///
/// Memory has a known byte pattern before and after it, looked at after every run; outputs start as NaN (bytes FF).

#include <megakernels/ops/error.hpp>
#include <megakernels/ops/operation.hpp>
#include <megakernels/tylo/numbers.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mk::kit {

inline constexpr data_type floating_types[] = {data_type::fp32, data_type::bf16, data_type::fp16, data_type::e4m3,
                                               data_type::e5m2};

/// Bytes between two guard zones. `shift` moves them off the allocation's alignment.
class memory {
public:
  explicit memory(std::int64_t bytes, std::int64_t shift = 0)
      : begin_(guard_bytes + static_cast<std::size_t>(shift)), size_(static_cast<std::size_t>(bytes)),
        bytes_(begin_ + size_ + guard_bytes) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = pattern(i);
    poison();
  }

  std::byte* data() { return bytes_.data() + begin_; }
  std::size_t size() const { return size_; }
  void poison() { std::fill_n(data(), size_, std::byte{0xFF}); }
  bool guards_intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if ((i < begin_ || i >= begin_ + size_) && bytes_[i] != pattern(i)) return false;
    return true;
  }

private:
  static constexpr std::size_t guard_bytes = 512;
  static std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 37 + 11); }

  std::size_t begin_;
  std::size_t size_;
  std::vector<std::byte> bytes_;
};

inline double number_at(data_type type, std::byte const* from) {
  return tylo::with_type(type, [&]<class T>(T element) {
    std::memcpy(&element, from, sizeof element);
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, float>)
      return static_cast<double>(element);
    else
      return static_cast<double>(static_cast<float>(element));
  });
}

/// Stores a number that is exact in fp32.
inline void put_number(data_type type, std::byte* to, double value) {
  tylo::with_type(type, [&]<class T>(T) {
    T const element = [&] {
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, float>)
        return static_cast<T>(value);
      else
        return T(static_cast<float>(value));
    }();
    std::memcpy(to, &element, sizeof element);
  });
}

/// `value` as an element of `type` holds it.
inline double rounded(data_type type, double value) {
  std::byte bytes[4];
  put_number(type, bytes, value);
  return number_at(type, bytes);
}

/// A description with memory; a slice shares the memory of what it was cut from. A default one is absent.
struct tensor {
  tensor_desc desc = absent;
  std::shared_ptr<memory> storage;
  std::int64_t offset = 0; ///< of element 0 in the storage, in elements

  bool present() const { return desc.rank >= 0; }
  std::int64_t extent(int axis) const { return desc.extents[static_cast<std::size_t>(axis)].capacity; }
  std::byte* data() const { return storage->data() + offset * bytes_of(desc.type); }
  tensor_view view(std::int64_t const* live = nullptr) const {
    return present() ? view_of(desc, data(), live) : tensor_view{};
  }

  template <class... Index> std::byte* at(Index... index) const {
    std::int64_t place = 0;
    std::size_t axis = 0;
    ((place += static_cast<std::int64_t>(index) * desc.strides[axis++]), ...);
    return data() + place * bytes_of(desc.type);
  }
  template <class... Index> double get(Index... index) const { return number_at(desc.type, at(index...)); }
  template <class... Index> void set(double value, Index... index) const { put_number(desc.type, at(index...), value); }

  /// Calls f(address) for each element, the last axis running fastest.
  template <class F> void each(F f) const {
    std::int64_t count = 1;
    for (int i = 0; i < desc.rank; ++i) count *= extent(i);
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t place = 0, rest = n;
      for (int i = desc.rank - 1; i >= 0; --i) {
        place += rest % extent(i) * desc.strides[static_cast<std::size_t>(i)];
        rest /= extent(i);
      }
      f(data() + place * bytes_of(desc.type));
    }
  }

  std::vector<double> numbers() const {
    std::vector<double> result;
    each([&](std::byte const* from) { result.push_back(number_at(desc.type, from)); });
    return result;
  }
  /// The elements' bytes in order: equal vectors are equal bits.
  std::vector<std::byte> bits() const {
    std::vector<std::byte> result;
    each([&](std::byte const* from) { result.insert(result.end(), from, from + bytes_of(desc.type)); });
    return result;
  }

  /// Indices begin .. end-1 of an axis, in the same memory.
  tensor slice(int axis, std::int64_t begin, std::int64_t end) const {
    auto const i = static_cast<std::size_t>(axis);
    tensor result = *this;
    result.desc.extents[i].capacity = end - begin;
    result.offset += begin * desc.strides[i];
    return result;
  }
  /// Axes 0 and 1 exchanged, in the same memory.
  tensor transposed() const {
    tensor result = *this;
    std::swap(result.desc.extents[0], result.desc.extents[1]);
    std::swap(result.desc.strides[0], result.desc.strides[1]);
    return result;
  }
  /// The same with an axis that is live.
  tensor live(int axis, std::int32_t live_axis) const {
    tensor result = *this;
    result.desc.extents[static_cast<std::size_t>(axis)].live = live_axis;
    return result;
  }
  /// A dense copy in memory of its own.
  tensor copy() const;
};

/// A dense tensor of bytes FF (NaN, or -1). `shift` in bytes.
inline tensor blank(data_type type, std::vector<std::int64_t> const& shape, std::int64_t shift = 0) {
  tensor result;
  result.desc = {.type = type, .rank = static_cast<std::int32_t>(shape.size()), .extents = {}, .strides = {}};
  std::int64_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    result.desc.extents[i].capacity = shape[i];
    count *= shape[i];
  }
  set_dense_strides(result.desc);
  result.storage = std::make_shared<memory>(count * bytes_of(type), shift);
  return result;
}

/// A tensor whose elements, in order, are next().
template <class F> tensor generate(data_type type, std::vector<std::int64_t> const& shape, F next) {
  auto result = blank(type, shape);
  result.each([&](std::byte* to) { put_number(type, to, next()); });
  return result;
}

inline tensor values(data_type type, std::vector<std::int64_t> const& shape, std::vector<double> const& numbers) {
  std::size_t at = 0;
  return generate(type, shape, [&] { return numbers.at(at++); });
}

inline tensor constant(data_type type, std::vector<std::int64_t> const& shape, double value) {
  return generate(type, shape, [=] { return value; });
}

inline tensor tensor::copy() const {
  std::vector<std::int64_t> shape;
  for (int i = 0; i < desc.rank; ++i) shape.push_back(extent(i));
  auto result = blank(desc.type, shape);
  for (std::size_t i = 0; i < shape.size(); ++i) result.desc.extents[i] = desc.extents[i];
  auto const bytes = bits();
  std::copy(bytes.begin(), bytes.end(), result.data());
  return result;
}

/// Random numbers that are the same everywhere (splitmix64: Steele, Lea, Flood, 2014).
class random {
public:
  explicit random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    auto z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// low .. high, both included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// From -1 to 1.
  double uniform() { return static_cast<double>(bits() >> 11) / 4503599627370496.0 - 1; }

private:
  std::uint64_t state_;
};

inline tensor integers(data_type type, std::vector<std::int64_t> const& shape, std::int64_t low, std::int64_t high,
                       std::uint64_t seed) {
  random r(seed);
  return generate(type, shape, [&] { return static_cast<double>(r.integer(low, high)); });
}

inline tensor uniform(data_type type, std::vector<std::int64_t> const& shape, std::uint64_t seed, double scale = 1) {
  random r(seed);
  return generate(type, shape, [&] { return static_cast<float>(scale * r.uniform()); });
}

/// How the grid of a node is divided into tasks; 0: the whole axis. Columns must be a multiple of the granule.
struct cut {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool backwards = false; ///< last task first
  bool oracle = false;    ///< sums in double
};

/// A node of one operation with its tensors by slot. Outputs that are not given are made as `infer` describes them;
/// optional outputs only where `wanted`.
template <class Op> class node {
public:
  using arguments = typename Op::arguments;
  static constexpr std::size_t slot_count = Op::slots.size();

  node(arguments const& a, std::vector<std::pair<int, tensor>> const& given, std::vector<int> const& wanted = {})
      : arguments_(a), tensors_(slot_count) {
    for (auto const& [slot, t] : given) tensors_[static_cast<std::size_t>(slot)] = t;
    bool made[slot_count] = {};
    for (std::size_t i = 0; i < slot_count; ++i)
      made[i] = Op::slots[i].use == slot_use::output ||
                (Op::slots[i].is_output() && (tensors_[i].present() || contains(wanted, static_cast<int>(i))));
    auto const shapes = infer(made);
    std::size_t next = 0;
    for (std::size_t i = 0; i < slot_count; ++i)
      if (made[i]) take_output(i, shapes.at(next++).desc);
    EXPECT_EQ(next, shapes.size());
  }

  tensor& operator[](int slot) { return tensors_[static_cast<std::size_t>(slot)]; }
  void set_arguments(arguments const& a) { arguments_ = a; }

  std::vector<tensor_desc> descs() const {
    std::vector<tensor_desc> result;
    for (auto const& t : tensors_) result.push_back(t.desc);
    return result;
  }
  std::vector<tensor_view> views(std::vector<std::int64_t> const& live = {}) const {
    std::vector<tensor_view> result;
    for (auto const& t : tensors_) result.push_back(t.view(live.data()));
    return result;
  }
  work_shape work() const { return operation_of<Op>.work(&arguments_, descs()); }

  std::vector<task> tasks(cut const& c, std::vector<std::int64_t> const& live = {}) const {
    auto const w = work();
    auto const rows = w.rows.is_live() ? live.at(static_cast<std::size_t>(w.rows.live)) : w.rows.capacity;
    auto const row_step = c.rows > 0 && w.rows_divisible ? c.rows : std::max<std::int64_t>(rows, 1);
    auto const column_step = c.columns > 0 ? c.columns : std::max<std::int64_t>(w.columns, 1);
    EXPECT_TRUE(column_step >= w.columns || column_step % w.column_granule == 0);
    std::vector<task> result;
    for (std::int64_t r = 0; r < rows; r += row_step)
      for (std::int64_t k = 0; k < w.columns; k += column_step)
        result.push_back({r, std::min(r + row_step, rows), k, std::min(k + column_step, w.columns)});
    if (c.backwards) std::reverse(result.begin(), result.end());
    return result;
  }

  /// Runs all tasks of the cut, then looks at the guard zones of every tensor.
  void run(cut const& c = {}, std::vector<std::int64_t> const& live = {}) const {
    auto const& op = operation_of<Op>;
    for (auto const& t : tasks(c, live)) (c.oracle ? op.oracle : op.run)(&arguments_, views(live), t);
    for (std::size_t i = 0; i < slot_count; ++i)
      EXPECT_TRUE(!tensors_[i].present() || tensors_[i].storage->guards_intact()) << Op::slots[i].name;
  }

  void check(std::vector<std::int64_t> const& live = {}) const {
    if constexpr (requires { &Op::check; }) operation_of<Op>.check(&arguments_, views(live));
  }

  std::vector<region> regions(task const& t) const {
    auto const d = descs();
    region_list list(d);
    operation_of<Op>.regions(&arguments_, d, t, list);
    return list.regions;
  }

private:
  static bool contains(std::vector<int> const& list, int value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  }

  std::vector<output_shape> infer(bool const (&made)[slot_count]) const {
    auto known = descs();
    std::vector<tensor_labels> labels(slot_count);
    for (std::size_t i = 0; i < slot_count; ++i) {
      if (Op::slots[i].is_output()) known[i] = absent;
      for (std::size_t k = 0; k < 4; ++k) labels[i].axes[k] = std::string(Op::slots[i].name) + std::to_string(k);
    }
    return operation_of<Op>.infer(&arguments_, shape_query(operation_of<Op>, "node", known, labels, made));
  }

  void take_output(std::size_t slot, tensor_desc const& desc) {
    auto& t = tensors_[slot];
    if (!t.present()) {
      std::vector<std::int64_t> shape;
      for (std::int32_t k = 0; k < desc.rank; ++k) shape.push_back(desc.extents[static_cast<std::size_t>(k)].capacity);
      t = blank(desc.type, shape);
      t.desc = desc;
    }
    EXPECT_EQ(t.desc.type, desc.type) << Op::slots[slot].name;
    EXPECT_EQ(t.desc.rank, desc.rank) << Op::slots[slot].name;
    EXPECT_EQ(t.desc.extents, desc.extents) << Op::slots[slot].name;
  }

  arguments arguments_;
  std::vector<tensor> tensors_;
};

/// The text of the error of type Error that f throws; empty (and a failure) where it throws none.
template <class Error, class F> std::string message_of(F f) {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

/// The text of the graph_error with which a node is refused.
template <class Op>
std::string refusal(typename Op::arguments const& a, std::vector<std::pair<int, tensor>> const& given) {
  return message_of<graph_error>([&] { node<Op>(a, given); });
}

/// `text` has each of the parts in it.
inline void expect_mentions(std::string const& text, std::vector<std::string> const& parts) {
  for (auto const& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

/// Units in the last place between two elements of a type: how many values lie from one to the other. NaN is 0 from
/// NaN and far from all else; the two zeros are 0 apart.
inline std::int64_t ulps(data_type type, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  auto const place = [&](double value) {
    std::byte bytes[8] = {};
    put_number(type, bytes, std::abs(value));
    std::int64_t magnitude;
    std::memcpy(&magnitude, bytes, sizeof magnitude);
    return std::signbit(value) ? -magnitude : magnitude;
  };
  return std::abs(place(a) - place(b));
}

/// Each element is within `limit` ulps of its type of what expected(i, j) rounds to, or within `slack` of it.
template <class F> void expect_close(tensor const& found, F expected, std::int64_t limit, double slack = 0) {
  int shown = 0;
  for (std::int64_t i = 0; i < found.extent(0); ++i)
    for (std::int64_t j = 0; j < found.extent(1) && shown < 5; ++j) {
      double const value = found.get(i, j), right = expected(i, j);
      if (std::abs(value - right) <= slack || ulps(found.desc.type, value, right) <= limit) continue;
      ++shown;
      ADD_FAILURE() << "[" << i << ", " << j << "] is " << value << ", expected " << right << " ("
                    << name_of(found.desc.type) << ")";
    }
}

/// The node gives the same bits however its grid is cut; also in an output that starts as other bytes.
template <class Op> void expect_same_bits_for_any_cut(node<Op>& n, int output) {
  n.run();
  auto const whole = n[output].bits();
  auto const granule = n.work().column_granule;
  for (cut const& c : {cut{.rows = 1}, cut{.rows = 3, .backwards = true}, cut{.columns = granule},
                       cut{.rows = 2, .columns = 3 * granule, .backwards = true}, cut{.rows = 5, .columns = granule}}) {
    n[output].storage->poison();
    n.run(c);
    EXPECT_EQ(n[output].bits(), whole) << "rows " << c.rows << ", columns " << c.columns;
  }
}

} // namespace mk::kit
