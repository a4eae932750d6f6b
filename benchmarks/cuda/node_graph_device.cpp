#include "cuda/node_graph_device.hpp"

#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/internal/device.hpp>

#include "cuda/node_graph.hpp"

#include <string>

namespace mk::bench {
namespace {

/// A submission has ended when `submit` returns. A failure stays: a benchmark ends with it.
class node_graph_device final : public mk::detail::device {
public:
  explicit node_graph_device(cuda_device const& choice)
      : instance_(static_cast<node_by_node const&>(*choice.kernel)),
        pool_((cuda::expect(cudaSetDevice(choice.ordinal), "cudaSetDevice"),
               std::make_shared<cuda::memory_pool>(copies_, choice.reserved_bytes, nullptr))) {}

  std::shared_ptr<std::byte> allocate(std::uint64_t bytes) override {
    auto memory = cuda::memory_pool::take(pool_, bytes);
    copies_.zero(memory.get(), bytes);
    return memory;
  }
  void set_to_zero(std::byte* memory, std::uint64_t bytes) override { copies_.zero(memory, bytes); }
  std::shared_ptr<std::byte const> place(std::shared_ptr<tensor const> const& value) override {
    auto memory = cuda::memory_pool::take(pool_, value->size_bytes());
    copies_.to_device(memory.get(), value->data(), value->size_bytes());
    return memory;
  }

  std::uint32_t load(std::shared_ptr<mk::detail::loaded_program const> loaded) override {
    if (loaded->program.list_hash != instance_.operations.hash)
      throw device_error("program '" + loaded->program.name + "' was made for another operation list");
    programs_.push_back(std::make_unique<node_graph>(std::move(loaded), *instance_.kernels, pool_, copies_));
    return static_cast<std::uint32_t>(programs_.size() - 1);
  }

  void submit(std::unique_ptr<mk::detail::job> job) override {
    auto const finished = job->finished;
    if (!failure_.empty()) return finished->finish(submission_state::cancelled, "cancelled: " + failure_);
    try {
      auto& program = *programs_[job->program];
      instance_.seconds->push_back(program.run(std::move(job)));
      finished->finish(submission_state::done);
    } catch (std::exception const& e) {
      failure_ = e.what();
      finished->finish(submission_state::failed, failure_);
    }
  }

  void wait_idle() override {}
  void reset() override { throw device_error("node by node: there is no reset"); }
  std::size_t pending() const override { return 0; }
  std::string failure() const override { return failure_; }
  std::uint32_t epoch(std::uint32_t program) const override { return programs_[program]->steps_done(); }
  std::vector<std::uint32_t> counters(std::uint32_t) const override { return {}; }
  bool host_reads(std::byte const* address) const override { return !copies_.is_device_memory(address); }

private:
  node_by_node const& instance_;
  cuda::copier copies_;
  std::shared_ptr<cuda::memory_pool> pool_;
  std::vector<std::unique_ptr<node_graph>> programs_;
  std::string failure_;
};

std::unique_ptr<mk::detail::device> open_node_by_node(cuda_device const& choice) {
  return std::make_unique<node_graph_device>(choice);
}

} // namespace

node_by_node::node_by_node(kernel_instance const& replaced, node_kernel_set const& set, std::vector<double>& times)
    : kernel_instance(replaced), on_cuda(*replaced.cuda), kernels(&set), seconds(&times) {
  on_cuda.open = &open_node_by_node;
  cuda = &on_cuda;
}

} // namespace mk::bench
