#include "models/llama/weights.hpp"

#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/weights/dequantize.hpp>

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mk::llama {
namespace {

tensor convert(gguf_tensor const& from, data_type type) {
  std::vector<std::int64_t> extents(from.extents.begin(), from.extents.end());
  tensor to(type, extents);
  tylo::with_type(type, [&]<class T>(T) {
    if constexpr (sizeof(T) >= 2 && !std::is_integral_v<T>) {
      auto const elements = to.span<T>();
      auto const width = from.row_elements();
      for_each_row_run(from, [&](std::uint64_t first_row, std::span<float const> run) {
        auto* out = elements.data() + first_row * width;
        for (auto value : run) *out++ = T(value);
      });
    } else
      throw error("weights cannot be converted to " + std::string(name_of(type)));
  });
  return to;
}

} // namespace

void load_weights(session& s, gguf_file const& file, data_type type, progress const& report) {
  std::uint64_t total = 0;
  for (auto const& t : file.tensors()) total += t.bytes.size();
  std::atomic<std::size_t> next = 0;
  std::mutex mutex; // of all below
  std::uint64_t loaded = 0;
  std::exception_ptr failure;
  auto const work = [&] {
    for (std::size_t i; (i = next++) < file.tensors().size();) {
      auto const& from = file.tensors()[i];
      try {
        auto const& readable = file.required_tensor(from.name);
        auto converted =
            std::make_shared<tensor>(convert(readable, from.name == "rope_freqs.weight" ? data_type::fp32 : type));
        std::scoped_lock const lock(mutex);
        s.set_constant(from.name, std::move(converted));
        loaded += from.bytes.size();
        if (report) report(total == 0 ? 1.0 : static_cast<double>(loaded) / static_cast<double>(total));
      } catch (...) {
        std::scoped_lock const lock(mutex);
        failure = std::current_exception();
        next = file.tensors().size();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  work();
  for (auto& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
}

} // namespace mk::llama
