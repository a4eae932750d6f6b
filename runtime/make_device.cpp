#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/host/internal/thread_device.hpp>
#include <megakernels/runtime/internal/device.hpp>
#include <megakernels/runtime/kernel_instance.hpp>

namespace mk::detail {
namespace {

std::unique_ptr<device> make(host_device const& choice) { return std::make_unique<thread_device>(choice); }

std::unique_ptr<device> make(cuda_device const& choice) {
  if (choice.kernel == nullptr) throw device_error("cuda device: no kernel instance is given");
  return choice.kernel->open(choice);
}

} // namespace

std::unique_ptr<device> make_device(device_choice const& choice) {
  return std::visit([](auto const& of) { return make(of); }, choice);
}

} // namespace mk::detail
