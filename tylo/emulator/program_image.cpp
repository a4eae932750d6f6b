#include <megakernels/tylo/emulator/internal/program_image.hpp>

#include <link.h>

namespace tylo::emulator {
namespace {

struct question {
  std::uintptr_t address;
  program_section answer = program_section::none;
};

int look(dl_phdr_info* info, std::size_t, void* data) {
  auto& q = *static_cast<question*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    auto const& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || q.address - (info->dlpi_addr + segment.p_vaddr) >= segment.p_memsz) continue;
    q.answer = (segment.p_flags & PF_W) != 0 ? program_section::variables : program_section::constants;
    return 1;
  }
  return 0;
}

} // namespace

program_section section_of(void const* address) {
  question q{reinterpret_cast<std::uintptr_t>(address)};
  (void)dl_iterate_phdr(&look, &q);
  return q.answer;
}

} // namespace tylo::emulator
