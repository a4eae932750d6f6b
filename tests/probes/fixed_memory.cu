#include "fragment_memory.hpp"

namespace mk::test {

template <> start_function const* starts_of<fixed_cases>() { return detail::starts_of_cases(fixed_cases{}); }
template <> start_function const* starts_of<special_cases>() { return detail::starts_of_cases(special_cases{}); }

} // namespace mk::test
