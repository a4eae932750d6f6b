#pragma once

/// Fragments: the elements of a tile that one thread holds, in its registers, and what is done with each element alone.
///
///     auto const y = select(x > 0.0f, x * scale, 0.0f);
///     auto const z = map([](float a, float b) { return fused_multiply_add(a, b, 1.0f); }, x, y);
///
/// Element types follow the scalar expression that is applied to each element, by the rules of C++: `x + 1.0` of fp32
/// is fp64, `x + 1.0f` is fp32. bf16, fp16 and the 8-bit floating types have no arithmetic: convert first.
/// No thread learns anything of another here. The result of a reduction goes with what was reduced: every element with
/// its line's result, without communication.

#include <megakernels/tylo/layout/ownership.hpp>
#include <megakernels/tylo/layout/spread.hpp>
#include <megakernels/tylo/target.hpp>

#include <type_traits>
#include <utility>

namespace tylo {

/// The values of the calling thread, by slot.
template <class T, ownership O> struct fragment {
  using element = T;
  static constexpr ownership owned = O;
  static constexpr int slots = O.slots();

  T data[slots];
};

/// Every element is `value`.
template <ownership O, class T> TYLO_FN fragment<T, O> filled(T value) {
  fragment<T, O> f;
  TYLO_UNROLL for (int s = 0; s < f.slots; ++s) f.data[s] = value;
  return f;
}

template <class X> inline constexpr bool is_fragment = false;
template <class T, ownership O> inline constexpr bool is_fragment<fragment<T, O>> = true;

template <class X> concept any_fragment = is_fragment<std::remove_cvref_t<X>>;

namespace detail {

/// Whether an operand can be combined with fragments of ownership O: a scalar can.
template <ownership O, class X> constexpr bool goes_with() {
  if constexpr (any_fragment<X>)
    return spreads_to<O, X::owned>;
  else
    return true;
}

template <class... X> struct operands;

/// The first fragment with which all operands go; where there is none, the first one.
template <class... X> struct common {
  template <class Candidate> static constexpr bool fits() {
    if constexpr (any_fragment<Candidate>)
      return (goes_with<Candidate::owned, X>() && ...);
    else
      return false;
  }
  template <class First, class... Rest> static constexpr auto pick() {
    if constexpr (fits<First>())
      return std::type_identity<First>{};
    else if constexpr (sizeof...(Rest) > 0)
      return pick<Rest...>();
    else
      return std::type_identity<void>{};
  }
  using type = typename decltype(pick<X...>())::type;
};

/// A plan's slots as a pack: constants for both compilers, where indexing the plan would not be.
template <ownership To, ownership From, int... S>
auto slots_of(std::integer_sequence<int, S...>) -> std::integer_sequence<int, spread_of<To, From>.from[S]...>;

template <ownership O, class T, ownership From, int... F>
TYLO_FN fragment<T, O> picked(fragment<T, From> const& x, std::integer_sequence<int, F...>) {
  return {{x.data[F]...}};
}

/// An operand as a fragment of ownership O; a scalar stays one.
template <ownership O, class X> TYLO_FN decltype(auto) spread(X const& x) {
  if constexpr (!any_fragment<X>)
    return (x);
  else if constexpr (X::owned == O)
    return (x);
  else
    return picked<O>(x, decltype(slots_of<O, X::owned>(std::make_integer_sequence<int, O.slots()>{})){});
}

template <class X> TYLO_FN decltype(auto) slot_of(X const& x, int slot) {
  if constexpr (any_fragment<X>)
    return (x.data[slot]);
  else
    return (x);
}

template <ownership O, class F, class... X> TYLO_FN auto map_alike(F& f, X const&... x) {
  fragment<std::remove_cvref_t<decltype(f(slot_of(x, 0)...))>, O> result;
  TYLO_UNROLL for (int s = 0; s < result.slots; ++s) result.data[s] = f(slot_of(x, s)...);
  return result;
}

} // namespace detail

/// `f` of the elements of all operands, place by place. An operand is a fragment, a reduction of one, or a scalar,
/// which goes with every element. `f` is any function of scalars.
template <class F, class... X>
  requires(any_fragment<X> || ...)
TYLO_FN auto map(F f, X const&... x) {
  using first = typename detail::common<X...>::type;
  static_assert(!std::is_void_v<first>,
                "tylo: these fragments are owned differently: no thread has the same elements of all of them");
  if constexpr (!std::is_void_v<first>) return detail::map_alike<first::owned>(f, detail::spread<first::owned>(x)...);
}

namespace detail {
template <class A, class B> concept with_fragment = any_fragment<A> || any_fragment<B>;
} // namespace detail

// Not the function objects of the C++ library: their calls are no device functions. Numbers of two types are wanted.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define TYLO_BINARY(name, op)                                                                                          \
  namespace detail {                                                                                                   \
  struct name {                                                                                                        \
    template <class A, class B> TYLO_FN auto operator()(A a, B b) const { return a op b; }                             \
  };                                                                                                                   \
  }                                                                                                                    \
  template <class A, class B>                                                                                          \
    requires detail::with_fragment<A, B>                                                                               \
  TYLO_FN auto operator op(A const& a, B const& b) {                                                                   \
    return map(detail::name{}, a, b);                                                                                  \
  }
TYLO_BINARY(plus, +)
TYLO_BINARY(minus, -)
TYLO_BINARY(multiplied, *)
TYLO_BINARY(over, /)
TYLO_BINARY(equal, ==)
TYLO_BINARY(not_equal, !=)
TYLO_BINARY(less, <)
TYLO_BINARY(greater, >)
TYLO_BINARY(at_most, <=)
TYLO_BINARY(at_least, >=)
// Both sides are evaluated, as always with fragments.
TYLO_BINARY(both, &&)
TYLO_BINARY(either, ||)
#undef TYLO_BINARY

#define TYLO_UNARY(name, op)                                                                                           \
  namespace detail {                                                                                                   \
  struct name {                                                                                                        \
    template <class A> TYLO_FN auto operator()(A a) const { return op a; }                                             \
  };                                                                                                                   \
  }                                                                                                                    \
  template <any_fragment A> TYLO_FN auto operator op(A const& a) { return map(detail::name{}, a); }
TYLO_UNARY(negative, -)
TYLO_UNARY(negation, !)
#undef TYLO_UNARY

namespace detail {
struct choose {
  template <class A, class B> TYLO_FN auto operator()(bool condition, A a, B b) const { return condition ? a : b; }
};
} // namespace detail
#pragma GCC diagnostic pop

/// Element by element, `a` where the condition holds, else `b`. Both have been evaluated: there is no branch.
template <class C, class A, class B>
  requires(any_fragment<C> || any_fragment<A> || any_fragment<B>)
TYLO_FN auto select(C const& condition, A const& a, B const& b) {
  return map(detail::choose{}, condition, a, b);
}

/// The axes change their names; every thread keeps its values. What was along columns is along rows.
template <class T, ownership O> TYLO_FN fragment<T, exchanged(O)> exchanged(fragment<T, O> const& f) {
  fragment<T, exchanged(O)> result;
  TYLO_UNROLL for (int s = 0; s < f.slots; ++s) result.data[s] = f.data[s];
  return result;
}

/// This thread's value of a fragment of one slot. It says nothing about the other threads: a tile may have more
/// elements.
template <class T, ownership O> TYLO_FN T only(fragment<T, O> const& f) {
  static_assert(O.slots() == 1, "tylo: only() of a fragment of which a thread has several elements");
  return f.data[0];
}

} // namespace tylo
