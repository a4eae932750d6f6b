#include "fragments.hpp"

namespace mk::test {

template <> start_function const* starts_of<warp_reductions>() { return detail::starts_of_cases(warp_reductions{}); }
template <> start_function const* starts_of<typed_reductions>() { return detail::starts_of_cases(typed_reductions{}); }

} // namespace mk::test
