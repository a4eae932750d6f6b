/// Fragments from tiles of layouts that the compiler knows, by those who know more, and back.

#include "fragment_runner.hpp"
#include "memory_checks.hpp"

namespace mk::test {
namespace {

constexpr on_emulator runner;

TEST(emulator_fragment_memory, layouts_known_to_the_compiler) { MK_CHECK_ALL(fixed_cases, check_memory, runner); }

TEST(emulator_fragment_memory, what_the_caller_knows) { MK_CHECK_ALL(special_cases, check_memory, runner); }

} // namespace
} // namespace mk::test
