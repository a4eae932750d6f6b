/// The kernels of tests/emulator/memory_kernels.hpp on a GPU, against the same plain loops as there.

#include "../cuda/kit.hpp"
#include "../emulator/memory_checks.hpp"
#include "fragment_memory.hpp"
#include "fragment_runner.hpp"

namespace mk::test {
namespace {

class fragment_memory : public gpu_test {};

TEST_F(fragment_memory, rows) { MK_CHECK_ALL(row_cases, check_memory, on_gpu<row_cases>{}); }

TEST_F(fragment_memory, factors_and_sums_of_products) {
  MK_CHECK_ALL(product_cases, check_memory, on_gpu<product_cases>{});
}

TEST_F(fragment_memory, elements_with_several_owners) {
  MK_CHECK_ALL(replica_cases, check_memory, on_gpu<replica_cases>{});
}

TEST_F(fragment_memory, layouts_known_to_the_compiler) {
  MK_CHECK_ALL(fixed_cases, check_memory, on_gpu<fixed_cases>{});
}

TEST_F(fragment_memory, what_the_caller_knows) { MK_CHECK_ALL(special_cases, check_memory, on_gpu<special_cases>{}); }

} // namespace
} // namespace mk::test
