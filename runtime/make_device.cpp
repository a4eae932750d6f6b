#include <megakernels/runtime/host/internal/thread_device.hpp>
#include <megakernels/runtime/internal/device.hpp>

namespace mk::detail {

std::unique_ptr<device> make_device(device_choice const& choice) {
  return std::make_unique<thread_device>(std::get<host_device>(choice));
}

} // namespace mk::detail
