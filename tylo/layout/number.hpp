#pragma once

/// Numbers of layouts and windows: known to the compiler, or when the program runs, perhaps with a claim on what they
/// are a multiple of. Functions take any of
///
///     tylo::constant<64>{}             // known to the compiler
///     tylo::multiple_of<8>{pitch}      // known at run time, and claimed to be a multiple of 8
///     pitch                            // known at run time; nothing is claimed
///
/// and none is negative.

#include <megakernels/tylo/target.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace tylo {

/// What the compiler knows of a number. An integer is one that it knows.
struct number {
  std::int64_t value; ///< of one known at run time only: what it is a multiple of, at least 1
  bool is_static;

  /// nvcc writes template arguments as lists of all members, in host code too.
  constexpr number(std::int64_t known = 0, bool known_to_compiler = true) : value(known), is_static(known_to_compiler) {
    if (known < 0) throw "tylo: a number of a layout is negative";
  }

  friend constexpr bool operator==(number const&, number const&) = default;
};

/// A number that is known at run time only.
constexpr number at_run_time(std::int64_t multiple = 1) {
  if (multiple < 1) throw "tylo: a number is a multiple of 1 or more";
  return {multiple, false};
}

constexpr number operator*(number a, number b) {
  auto const product = a.value * b.value;
  return (a.is_static && b.is_static) || product == 0 ? number{product} : at_run_time(product);
}

namespace detail {
/// Throws std::invalid_argument: "tylo: <what> is <value>, which is no multiple of <divisor>".
[[noreturn]] void throw_no_multiple(char const* what, std::int64_t value, std::int64_t divisor);
/// Is called before they throw: the emulator reports where a kernel breaks a claim, and does not return.
extern void (*claim_breaks)(char const* text);
/// Throws std::invalid_argument: "tylo: <what> is <value>, below 0".
[[noreturn]] void throw_negative(char const* what, std::int64_t value);
} // namespace detail

/// Host code throws std::invalid_argument where `value` is no multiple of `divisor`, or is negative; device code does
/// not look.
TYLO_FN constexpr void check_multiple([[maybe_unused]] char const* what, [[maybe_unused]] std::int64_t value,
                                      [[maybe_unused]] std::int64_t divisor) {
#if !defined(__CUDA_ARCH__)
  if (value < 0) detail::throw_negative(what, value);
  if (value % divisor != 0) detail::throw_no_multiple(what, value, divisor);
#endif
}

template <std::int64_t Value> struct constant {
  static constexpr number known{Value};
  static constexpr std::int64_t value = Value;
};

/// Host code checks the claim.
template <std::int64_t Divisor> struct multiple_of {
  static constexpr number known = at_run_time(Divisor);
  std::int64_t value;

  TYLO_FN explicit constexpr multiple_of(std::int64_t v) : value(v) { check_multiple("a number", v, Divisor); }
};

TYLO_FN constexpr multiple_of<1> numbered(std::integral auto n) { return multiple_of<1>{static_cast<std::int64_t>(n)}; }
template <std::int64_t Value> TYLO_FN constexpr constant<Value> numbered(constant<Value> n) { return n; }
template <std::int64_t Divisor> TYLO_FN constexpr multiple_of<Divisor> numbered(multiple_of<Divisor> n) { return n; }

/// An integer, a constant or a claimed multiple.
template <class T> concept layout_number = requires(T n) { numbered(n); };

/// What the compiler knows of an argument of this type.
template <layout_number T> inline constexpr number known_of = decltype(numbered(std::declval<T>()))::known;

} // namespace tylo
