#include <megakernels/ops/add/handler.hpp>
#include <megakernels/ops/all.hpp>
#include <megakernels/ops/attention/handler.hpp>
#include <megakernels/ops/embedding/handler.hpp>
#include <megakernels/ops/kv_append/handler.hpp>
#include <megakernels/ops/linear/handler.hpp>
#include <megakernels/ops/merge/handler.hpp>
#include <megakernels/ops/rms_norm/handler.hpp>
#include <megakernels/ops/rope/handler.hpp>
#include <megakernels/ops/sample/handler.hpp>
#include <megakernels/ops/silu_mul/handler.hpp>

#include "node_kernel.cuh"

namespace mk::bench {
namespace {

constexpr unsigned groups = 2;

/// What the last worker does between two steps in the persistent kernel.
__global__ void feed_kernel(feed_arguments const a) {
  tylo::await_kernel_ahead();
  auto const& header = *reinterpret_cast<device::submission_header const*>(a.slot);
  auto const* const feeds = reinterpret_cast<device::step_feed const*>(a.slot + header.feeds);
  auto const step = *a.steps;
  tylo::sync_warp();
  for (std::uint32_t f = 0; f < header.feed_count; ++f) {
    auto const& feed = feeds[f];
    for (auto i = tylo::lane_rank(); i < feed.count; i += tylo::warp_size) {
      auto const made = feed.from == nullptr ? feed.to[i] + feed.increment : feed.from[i];
      feed.to[i] = made;
      if (feed.history != nullptr) feed.history[std::size_t(step) * feed.count + i] = made;
    }
  }
  if (tylo::lane_rank() == 0) *a.steps = step + 1;
}

template <class... Ops> node_kernel_set make_kernels(operation_list<Ops...>) {
  return {.of_operation = {reinterpret_cast<void const*>(&node_kernel<Ops, groups>)...},
          .feed = reinterpret_cast<void const*>(&feed_kernel),
          .threads = node_threads<groups>,
          .shared_bytes = sizeof(node_memory)};
}

} // namespace

node_kernel_set const& llama_node_kernels() {
  static auto const kernels = make_kernels(llama_list{});
  return kernels;
}

} // namespace mk::bench
