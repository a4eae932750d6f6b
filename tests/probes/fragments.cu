#include "fragments.hpp"

namespace mk::test {

template <> start_function const* starts_of<map_cases>() { return detail::starts_of_cases(map_cases{}); }
template <> start_function const* starts_of<exchange_cases>() { return detail::starts_of_cases(exchange_cases{}); }
template <> start_function const* starts_of<worked_cases>() { return detail::starts_of_cases(worked_cases{}); }

} // namespace mk::test
