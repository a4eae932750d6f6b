#pragma once

/// What tasks of an emulated kernel may touch: what the regions of their operations say.

#include <megakernels/ops/operation_list.hpp>
#include <megakernels/runtime/device/task_queue.hpp>
#include <megakernels/tylo/emulator/launch.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mk::emulated {

/// Where an operand of a task lies.
struct operand_place {
  tensor_view view;
  std::uint64_t bytes = 0;       ///< from the first to one past the last element; 0 where it has none
  std::vector<std::size_t> axes; ///< that move the address, from the largest stride to the smallest

  explicit operand_place(tensor_view const&);
};

/// The regions of a task, in memory.
class task_accesses final : public tylo::emulator::announced_accesses {
public:
  task_accesses(operation const&, device::decoded_task const&);

  [[nodiscard]] bool include(void const* address, std::size_t bytes, bool write) const override;
  [[nodiscard]] std::string why_not(void const* address, std::size_t bytes, bool write) const override;

  /// Whether they are those of this task, and not of one before in the same slot.
  [[nodiscard]] bool are_of(device::decoded_task const& t) const {
    return program_ == t.program && record_ == t.record && multiple_ == t.multiple;
  }

private:
  operation const& operation_;
  void const* program_;
  std::uint32_t record_, multiple_;
  std::vector<operand_place> operands_;
  std::vector<region> regions_;
};

/// Of one launch.
class task_watch {
public:
  explicit task_watch(operation_table const& table) : operations_(table.operations) {}

  /// `task` is a decoded_task.
  std::shared_ptr<tylo::emulator::announced_accesses const> accesses_of(void const* task);

private:
  std::span<operation const> operations_;
  std::map<void const*, std::shared_ptr<task_accesses const>> of_slots_; ///< of the last task in each slot of a queue
};

} // namespace mk::emulated
