#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/host/internal/thread_device.hpp>
#include <megakernels/runtime/internal/device.hpp>
#include <megakernels/runtime/kernel_instance.hpp>

#if MK_EMULATOR
#include <megakernels/runtime/emulated/internal/emulated_driver.hpp>
#endif

namespace mk::detail {
namespace {

std::unique_ptr<device> make(host_device const& choice) { return std::make_unique<thread_device>(choice); }

std::unique_ptr<device> make(cuda_device const& choice) {
  if (choice.kernel == nullptr) throw device_error("cuda device: no kernel instance is given");
  if (choice.kernel->cuda == nullptr)
    throw device_error("cuda device: kernel '" + std::string(choice.kernel->name) + "' was built without CUDA");
  return choice.kernel->cuda->open(choice);
}

std::unique_ptr<device> make([[maybe_unused]] emulator_device const& choice) {
#if MK_EMULATOR
  return emulated::open(choice);
#else
  throw device_error("emulator device: this library was built without the emulator");
#endif
}

} // namespace

std::unique_ptr<device> make_device(device_choice const& choice) {
  return std::visit([](auto const& of) { return make(of); }, choice);
}

} // namespace mk::detail
