#include "fragment_memory.hpp"

namespace mk::test {

template <> start_function const* starts_of<row_cases>() { return detail::starts_of_cases(row_cases{}); }
template <> start_function const* starts_of<product_cases>() { return detail::starts_of_cases(product_cases{}); }
template <> start_function const* starts_of<replica_cases>() { return detail::starts_of_cases(replica_cases{}); }

} // namespace mk::test
