#include <megakernels/tylo/emulator/internal/symbols.hpp>

#include <cxxabi.h>
#include <unwind.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
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

constexpr std::size_t most_frames = 8, most_positions = 64;

/// Parts of the emulator itself, of the C++ library, and what has no debugging symbols tell readers nothing.
bool is_telling(code_frame const& f) {
  return !f.file.empty() && f.file.find("tylo/emulator/") == f.file.npos && f.file.find("/include/c++/") == f.file.npos;
}

/// A file's name with its last two folders.
std::string_view short_path(std::string_view file) {
  auto at = file.size();
  for (int parts = 0; parts < 3; ++parts) {
    at = at == 0 ? file.npos : file.rfind('/', at - 1);
    if (at == file.npos) return file;
  }
  return file.substr(at + 1);
}

#if TYLO_HAS_BACKTRACE

/// Behind the bracket that closes the one at `at`.
std::size_t after_brackets(std::string_view name, std::size_t at) {
  std::size_t depth = 0;
  for (; at < name.size(); ++at) {
    auto const c = name[at];
    if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
    bool const arrow = c == '>' && name[at - 1] == '-';
    if ((c == ')' || c == '>' || c == '}' || c == ']') && !arrow && --depth == 0) return at + 1;
  }
  return at;
}

/// A demangled name without the types of parameters and result, long template arguments cut.
std::string short_name(std::string_view whole) {
  constexpr std::size_t longest_arguments = 60;
  constexpr std::string_view call = "operator", unnamed = "(anonymous namespace)::";
  std::string name;
  for (std::size_t at = 0; at < whole.size();) {
    auto const rest = whole.substr(at);
    auto const c = whole[at];
    if (rest.starts_with(unnamed)) {
      at += unnamed.size();
    } else if (rest.starts_with(call) && (name.empty() || name.ends_with("::"))) {
      // The signs of an operator, or the type that it converts to, up to the parameters.
      auto const end = rest.find('(', call.size() + (rest.substr(call.size()).starts_with("()") ? 1 : 0));
      name += rest.substr(0, end);
      at = end == rest.npos ? whole.size() : at + end;
    } else if (c == '<' || c == '{' || c == '[') {
      auto const end = after_brackets(whole, at);
      auto const text = whole.substr(at, end - at);
      if (c == '<')
        name += text.size() > longest_arguments ? "<...>" : text;
      else if (c == '{')
        name += text.starts_with("{lambda") ? "{lambda}" : text;
      at = end;
    } else if (c == '(') {
      at = after_brackets(whole, at);
      for (std::string_view const suffix : {" const", " volatile", "&&", "&"})
        if (whole.substr(at).starts_with(suffix)) at += suffix.size();
      if (whole.substr(at).starts_with(" [")) break; // what the compiler made of the function
    } else {
      if (c == ' ')
        name.clear(); // what stood there was the result
      else
        name += c;
      ++at;
    }
  }
  return name;
}

std::string name_of_function(char const* name) {
  if (name == nullptr) return {};
  if (!std::string_view(name).starts_with("_Z")) return name;
  int status = 0;
  auto* const demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  auto result = demangled != nullptr ? short_name(demangled) : std::string(name);
  std::free(demangled);
  return result;
}

void ignore_error(void*, char const*, int) {}

int add_frame(void* to, std::uintptr_t, char const* file, int line, char const* function) {
  if (file == nullptr && function == nullptr) return 0;
  static_cast<std::vector<code_frame>*>(to)->push_back(
      {.function = name_of_function(function), .file = file != nullptr ? file : "", .line = line});
  return 0;
}

void take_symbol(void* to, std::uintptr_t, char const* name, std::uintptr_t, std::uintptr_t) {
  if (name != nullptr) *static_cast<std::string*>(to) = name_of_function(name);
}

#endif

std::string text_of(code_position position) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "+0x%x", static_cast<unsigned>(position));
  return program_invocation_short_name + std::string(text);
}

std::string text_of(code_frame const& f, code_position position) {
  auto const place =
      f.file.empty() ? text_of(position) : std::string(short_path(f.file)) + ":" + std::to_string(f.line);
  return f.function.empty() ? place : place + " (" + f.function + ")";
}

} // namespace

std::vector<code_frame> frames_at([[maybe_unused]] code_position position) {
  std::vector<code_frame> frames;
#if TYLO_HAS_BACKTRACE
  static std::mutex mutex;
  std::lock_guard const lock(mutex);
  static auto* const state = backtrace_create_state(nullptr, 0, &ignore_error, nullptr);
  // The call itself lies before the address that it returns to, which may be of another line.
  auto const call = reinterpret_cast<std::uintptr_t>(&program_start) + static_cast<std::uint32_t>(position) - 1;
  (void)backtrace_pcinfo(state, call, &add_frame, &ignore_error, &frames);
  // The linker's symbols name all functions in full; debugging symbols do not where a function is not exported.
  std::string symbol;
  (void)backtrace_syminfo(state, call, &take_symbol, &ignore_error, &symbol);
  if (symbol.empty()) return frames;
  if (frames.empty()) frames.emplace_back();
  frames.back().function = symbol;
#endif
  return frames;
}

std::string describe(code_position position) { return describe(std::vector{position}); }

std::string describe(std::vector<code_position> const& positions) {
  std::string text, addresses;
  std::size_t count = 0;
  bool has_symbols = false;
  auto const add = [](std::string& to, std::string const& frame) { to += (to.empty() ? "" : " < ") + frame; };
  for (std::size_t i = 0; i < positions.size() && count < most_frames; ++i) {
    auto frames = frames_at(positions[i]);
    if (frames.empty()) frames.emplace_back();
    for (auto const& f : frames) {
      has_symbols = has_symbols || !f.file.empty();
      if (i < most_frames) add(addresses, text_of(f, positions[i]));
      if (is_telling(f) && count++ < most_frames) add(text, text_of(f, positions[i]));
    }
  }
  return has_symbols ? text : addresses;
}

std::vector<code_position> call_chain() {
  std::vector<code_position> positions;
  (void)_Unwind_Backtrace(
      [](_Unwind_Context* at, void* to) {
        auto& chain = *static_cast<std::vector<code_position>*>(to);
        auto const offset = _Unwind_GetIP(at) - reinterpret_cast<std::uintptr_t>(&program_start);
        // Libraries lie elsewhere, and have no positions.
        if (offset <= UINT32_MAX) chain.push_back(static_cast<code_position>(offset));
        return chain.size() < most_positions ? _URC_NO_REASON : _URC_END_OF_STACK;
      },
      &positions);
  if (!positions.empty()) positions.erase(positions.begin()); // this function itself
  return positions;
}

} // namespace tylo::emulator
