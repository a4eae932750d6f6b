#include "fragments.hpp"

namespace mk::test {

template <> start_function const* starts_of<softmax_cases>() { return detail::starts_of_cases(softmax_cases{}); }
template <> start_function const* starts_of<merge_cases>() { return detail::starts_of_cases(merge_cases{}); }

} // namespace mk::test
