#include <megakernels/tylo/emulator/internal/symbols.hpp>

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#if __has_include(<backtrace.h>)
#include <backtrace.h>
#define TYLO_HAS_BACKTRACE 1
#else
#define TYLO_HAS_BACKTRACE 0
#endif

namespace tylo::emulator {
namespace {

constexpr std::size_t most_frames = 8;

/// Parts of the emulator itself, and of the C++ library, tell readers nothing.
bool is_telling(std::string_view file) {
  return file.find("tylo/emulator/") == file.npos && file.find("/include/c++/") == file.npos;
}

#if TYLO_HAS_BACKTRACE

/// A file's name with its last two folders.
std::string_view short_path(std::string_view file) {
  auto at = file.size();
  for (int parts = 0; parts < 3; ++parts) {
    at = at == 0 ? file.npos : file.rfind('/', at - 1);
    if (at == file.npos) return file;
  }
  return file.substr(at + 1);
}

/// The function's own name: no return type, arguments, template arguments and namespaces.
std::string short_name(char const* mangled) {
  if (mangled == nullptr) return {};
  int status = 0;
  auto* const demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string_view const whole(status == 0 ? demangled : mangled);
  std::string name;
  int depth = 0;
  for (char const c : whole) {
    if (c == '<' && !name.ends_with("operator")) ++depth;
    if (depth == 0 && c == '(') break;
    if (depth == 0) name += c;
    if (c == '>' && depth > 0) --depth;
  }
  std::free(demangled);
  if (auto const cut = name.find_last_of(" :"); cut != name.npos && name.find("operator") == name.npos)
    name.erase(0, cut + 1);
  return name;
}

backtrace_state* the_state() {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, [](void*, char const*, int) {}, nullptr);
  return state;
}

struct chain {
  std::string text;
  std::size_t frames = 0;
};

int add_frame(void* data, std::uintptr_t, char const* file, int line, char const* function) {
  auto& c = *static_cast<chain*>(data);
  if (file == nullptr || !is_telling(file) || c.frames == most_frames) return 0;
  if (c.frames++ > 0) c.text += " < ";
  c.text += std::string(short_path(file)) + ":" + std::to_string(line);
  if (auto const name = short_name(function); !name.empty()) c.text += " (" + name + ")";
  return 0;
}

void add(chain& c, code_position position) {
  auto const address = reinterpret_cast<std::uintptr_t>(&__ehdr_start) + static_cast<std::uint32_t>(position);
  (void)backtrace_pcinfo(the_state(), address - 1, &add_frame, [](void*, char const*, int) {}, &c);
}

#endif

std::string plain(std::vector<code_position> const& positions) {
  std::string text;
  for (auto const p : positions)
    text += (text.empty() ? "program+" : " < program+") + std::to_string(static_cast<std::uint32_t>(p));
  return text;
}

} // namespace

std::string describe(code_position position) { return describe(std::vector{position}); }

std::string describe(std::vector<code_position> const& positions) {
#if TYLO_HAS_BACKTRACE
  static std::mutex mutex;
  std::lock_guard const lock(mutex);
  chain c;
  for (auto const p : positions) add(c, p);
  if (!c.text.empty()) return c.text;
#endif
  return plain(positions);
}

std::vector<code_position> call_chain() {
  std::vector<code_position> result;
#if TYLO_HAS_BACKTRACE
  (void)backtrace_simple(
      the_state(), 1,
      [](void* data, std::uintptr_t pc) {
        auto& positions = *static_cast<std::vector<code_position>*>(data);
        positions.push_back(position_of(reinterpret_cast<void const*>(pc + 1)));
        return positions.size() < 32 ? 0 : 1;
      },
      [](void*, char const*, int) {}, &result);
#endif
  return result;
}

} // namespace tylo::emulator
