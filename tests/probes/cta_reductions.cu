#include "fragments.hpp"

namespace mk::test {

template <> start_function const* starts_of<cta_reductions>() { return detail::starts_of_cases(cta_reductions{}); }

} // namespace mk::test
