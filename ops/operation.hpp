#pragma once

/// What an operation is: the one struct that its author writes, and the same as a value that graph, scheduler and
/// devices can hold without knowing the struct.
///
/// An operation is a struct with static members only:
///
///     struct scale {
///       static constexpr std::string_view name = "scale";
///       static constexpr std::uint32_t revision = 1;             // raise when `arguments` or the meaning changes
///       struct arguments { float factor; };                      // trivially copyable, no padding, no pointers
///       static constexpr std::array slots{input("x"), output("y")};
///       // Checks everything; throws graph_error.
///       static std::vector<output_shape> infer(arguments const&, shape_query const&);
///       static work_shape work(arguments const&, std::span<tensor_desc const> operands);
///       static void regions(arguments const&, std::span<tensor_desc const> operands, task const&, region_list&);
///       static cost cost_of(arguments const&, std::span<tensor_desc const> operands, task const&);
///       // In float it does real work, in double it is the oracle.
///       template <class Accumulate>
///       static void reference(arguments const&, std::span<tensor_view const> operands, task const&);
///       // Optional, see `operation`.
///       static void check(arguments const&, std::span<tensor_view const> operands);
///     };
///
/// Operands are numbered by `slots`; an absent optional one has rank -1 in descriptions (see `absent`) and views.

#include <megakernels/ops/box.hpp>
#include <megakernels/ops/shape_query.hpp>
#include <megakernels/ops/tensor.hpp>

#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mk {

/// How an operation uses an operand.
enum class slot_use : std::uint8_t {
  input,    ///< read only
  optional, ///< read only, may be absent
  update,   ///< a state that is read and written in place
  output,   ///< written, made by the node
  optional_output,
};

/// One operand of an operation.
struct slot {
  std::string_view name;
  slot_use use = slot_use::input;

  constexpr bool is_output() const { return use == slot_use::output || use == slot_use::optional_output; }
  constexpr bool may_be_absent() const { return use == slot_use::optional || use == slot_use::optional_output; }
  constexpr bool is_written() const { return is_output() || use == slot_use::update; }
};

constexpr slot input(std::string_view name) { return {name, slot_use::input}; }
constexpr slot optional(std::string_view name) { return {name, slot_use::optional}; }
constexpr slot update(std::string_view name) { return {name, slot_use::update}; }
constexpr slot output(std::string_view name) { return {name, slot_use::output}; }
constexpr slot optional_output(std::string_view name) { return {name, slot_use::optional_output}; }

/// How the work of a node can be cut: a grid of rows x columns, both counted in the operation's own units.
/// Every element of the result must have the same bits however the grid is cut.
struct work_shape {
  extent rows{};                   ///< the axis along which a task takes a run; may be live
  std::int64_t columns = 1;        ///< independent units beside the rows (output features, heads ...)
  std::int64_t column_granule = 1; ///< a task's columns start at multiples of this
  bool rows_divisible = true;      ///< false: a task must take all rows
};

/// A part of a node's grid, half-open. In `regions` and `cost_of` rows go up to the capacity; in `reference` the
/// device has cut them to the live length (and does not run a task that is left with none).
struct task {
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t column_begin = 0;
  std::int64_t column_end = 0;
};

/// A part of one operand that a task reads or writes.
struct region {
  std::int32_t operand = 0;
  bool write = false;
  box where; ///< in coordinates of the operand
};

/// Collects the regions of a task. `read` / `write` start from the operand's whole box; narrow axes with `along`.
class region_list {
public:
  explicit region_list(std::span<tensor_desc const> operands) : operands_(operands) {}

  struct narrowing {
    box& where;
    /// Narrows one axis to [begin, end).
    narrowing& along(int axis, std::int64_t begin, std::int64_t end) {
      where.begin[static_cast<std::size_t>(axis)] = begin;
      where.end[static_cast<std::size_t>(axis)] = end;
      return *this;
    }
  };

  narrowing read(int operand) { return add(operand, false); }
  narrowing write(int operand) { return add(operand, true); }

  std::vector<region> regions;

private:
  narrowing add(int operand, bool write) {
    auto const& desc = operands_[static_cast<std::size_t>(operand)];
    region r{.operand = operand, .write = write, .where = {}};
    for (std::size_t i = 0; i < max_rank; ++i)
      r.where.end[i] = static_cast<std::int32_t>(i) < desc.rank ? desc.extents[i].capacity : 1;
    regions.push_back(r);
    return {regions.back().where};
  }

  std::span<tensor_desc const> operands_;
};

/// What a task moves and computes, at full capacity.
struct cost {
  double bytes = 0;      ///< read and written from memory
  double operations = 0; ///< multiplications and additions
};

/// The description of an absent optional operand.
inline constexpr tensor_desc absent{.type = data_type::fp32, .rank = -1, .extents = {}, .strides = {}};

/// An operation as a value. The pointers are never null, except `check`.
struct operation {
  std::string_view name;
  std::uint32_t revision;
  std::uint32_t arguments_bytes;
  std::span<slot const> slots;
  std::vector<output_shape> (*infer)(void const* arguments, shape_query const&);
  work_shape (*work)(void const* arguments, std::span<tensor_desc const>);
  void (*regions)(void const* arguments, std::span<tensor_desc const>, task const&, region_list&);
  cost (*cost_of)(void const* arguments, std::span<tensor_desc const>, task const&);
  /// Runs a task on the host, sums in fp32.
  void (*run)(void const* arguments, std::span<tensor_view const>, task const&);
  /// Runs a task on the host, sums in double.
  void (*oracle)(void const* arguments, std::span<tensor_view const>, task const&);
  /// Looks at the contents of operands before a submission starts and throws `submit_error`. Operands whose bytes the
  /// host cannot see at that time have a null address. A task must stay within its memory for any contents, checked
  /// or not: contents may also be made on the device.
  void (*check)(void const* arguments, std::span<tensor_view const>);
};

namespace detail {

template <class Op> typename Op::arguments arguments_from(void const* bytes) {
  typename Op::arguments arguments;
  std::memcpy(&arguments, bytes, sizeof arguments);
  return arguments;
}

template <class Op> constexpr auto check_of() -> void (*)(void const*, std::span<tensor_view const>) {
  if constexpr (requires { &Op::check; })
    return [](void const* a, std::span<tensor_view const> o) { Op::check(arguments_from<Op>(a), o); };
  else
    return nullptr;
}

} // namespace detail

/// The operation value of an operation struct.
template <class Op>
inline constexpr operation operation_of{
    .name = Op::name,
    .revision = Op::revision,
    .arguments_bytes = sizeof(typename Op::arguments),
    .slots = std::span<slot const>(Op::slots),
    .infer = [](void const* a, shape_query const& q) { return Op::infer(detail::arguments_from<Op>(a), q); },
    .work = [](void const* a, std::span<tensor_desc const> o) { return Op::work(detail::arguments_from<Op>(a), o); },
    .regions = [](void const* a, std::span<tensor_desc const> o, task const& t,
                  region_list& r) { Op::regions(detail::arguments_from<Op>(a), o, t, r); },
    .cost_of = [](void const* a, std::span<tensor_desc const> o,
                  task const& t) { return Op::cost_of(detail::arguments_from<Op>(a), o, t); },
    .run = [](void const* a, std::span<tensor_view const> o,
              task const& t) { Op::template reference<float>(detail::arguments_from<Op>(a), o, t); },
    .oracle = [](void const* a, std::span<tensor_view const> o,
                 task const& t) { Op::template reference<double>(detail::arguments_from<Op>(a), o, t); },
    .check = detail::check_of<Op>(),
};

} // namespace mk
