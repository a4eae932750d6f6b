#pragma once

/// What one submission brings along: lengths, values and bindings, each by name.

#include <megakernels/ops/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mk {

/// A list of names and what they stand for in one submission:
///
///     session.submit(decode, mk::step().live("tokens", 3).values("ids", ids).bind("logits", logits.view()));
///
/// Nothing is checked here: `session::submit` does, against its program. Saying a name again replaces what was said,
/// so that a step can be kept and changed. A step may be submitted any number of times.
class step {
public:
  /// Length of a live axis, from 0 to its capacity.
  step& live(std::string_view name, std::int64_t length);

  /// Elements of a step buffer (kind `step`) in row-major order, as many as its live shape has. They are copied now.
  step& values(std::string_view name, std::span<std::int32_t const> elements);
  step& values(std::string_view name, std::span<float const> elements);
  step& values(std::string_view name, std::initializer_list<std::int32_t> elements);
  step& values(std::string_view name, std::initializer_list<float> elements);
  /// The same of any type, with its shape, which must be the live one. Strides may be any.
  step& values(std::string_view name, tensor_view const& elements);

  /// Memory of the caller for an input or output. Type, live shape and strides must be those of the program; the memory
  /// stays with the session until the submission is done.
  step& bind(std::string_view name, tensor_view const& memory);

  /// Runs the program so many times, one run after another on the device, 1 or more. Live lengths and bindings stay;
  /// step values change between runs as said by the next two.
  step& repeat(std::int64_t runs);
  /// After each run the int32 step values `into` become the output `from`, of as many elements.
  step& carry(std::string_view from, std::string_view into);
  /// After each run `by` is added to each of the int32 step values `into`.
  step& advance(std::string_view into, std::int32_t by);
  /// What the step values `into`, carried or advanced, are after each run: dense int32 [runs, elements].
  step& keep(std::string_view into, tensor_view const& history);

  /// How step values change between runs.
  struct change {
    std::string from; ///< the output that they become; empty: `by` is added
    std::int32_t by = 0;
  };

  /// Elements, dense in row-major order. `rank` is -1 where only their number is known.
  struct elements {
    std::vector<std::byte> bytes;
    data_type type = data_type::fp32;
    std::int32_t rank = -1;
    std::array<std::int64_t, max_rank> extents{};
  };
  template <class Value> using by_name = std::map<std::string, Value, std::less<>>;

  [[nodiscard]] by_name<std::int64_t> const& lives() const noexcept { return lives_; }
  [[nodiscard]] by_name<elements> const& values() const noexcept { return values_; }
  [[nodiscard]] by_name<tensor_view> const& bindings() const noexcept { return bindings_; }

  [[nodiscard]] std::int64_t runs() const noexcept { return runs_; }
  [[nodiscard]] by_name<change> const& changes() const noexcept { return changes_; }
  [[nodiscard]] by_name<tensor_view> const& histories() const noexcept { return histories_; }

private:
  std::int64_t runs_ = 1;
  by_name<change> changes_;
  by_name<tensor_view> histories_;
  by_name<std::int64_t> lives_;
  by_name<elements> values_;
  by_name<tensor_view> bindings_;
};

} // namespace mk
