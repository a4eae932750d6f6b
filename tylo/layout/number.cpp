#include <megakernels/tylo/layout/number.hpp>

#include <stdexcept>
#include <string>

namespace tylo::detail {

void throw_no_multiple(char const* what, std::int64_t value, std::int64_t divisor) {
  throw std::invalid_argument("tylo: " + std::string(what) + " is " + std::to_string(value) +
                              ", which is no multiple of " + std::to_string(divisor));
}

void throw_negative(char const* what, std::int64_t value) {
  throw std::invalid_argument("tylo: " + std::string(what) + " is " + std::to_string(value) + ", below 0");
}

} // namespace tylo::detail
