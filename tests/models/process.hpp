#pragma once

/// Programs as their users run them: arguments and input in; output, messages and exit code out.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace mk::test {

/// How a program ended.
struct ended {
  int code = 0; ///< exit code; 128 and the signal where one ended it, -1 where it was ended for taking too long
  std::string out, err;
  double seconds = 0; ///< that `wait` took
};

/// A running program, ended with its owner.
class process {
public:
  explicit process(std::vector<std::string> arguments, std::string const& input = "") {
    std::array<int, 2> in{}, out{}, err{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0 ||
        ::pipe2(err.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("no pipes");
    std::vector<char*> pointers;
    for (auto& a : arguments) pointers.push_back(a.data());
    pointers.push_back(nullptr);
    id_ = ::fork();
    if (id_ == 0) {
      ::signal(SIGINT, SIG_DFL);
      ::signal(SIGPIPE, SIG_DFL);
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      ::execvp(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    // Inputs of tests fit a pipe. A program that ended before it read them is no error.
    auto* const before = ::signal(SIGPIPE, SIG_IGN);
    [[maybe_unused]] auto const written = ::write(in[1], input.data(), input.size());
    ::signal(SIGPIPE, before);
    ::close(in[1]);
    out_ = out[0];
    err_ = err[0];
  }
  process(process const&) = delete;
  process& operator=(process const&) = delete;
  ~process() {
    close_out();
    ::close(err_);
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      ::waitpid(id_, nullptr, 0);
    }
  }

  void send(int signal) const { ::kill(id_, signal); }
  void close_out() {
    if (out_ >= 0) ::close(out_);
    out_ = -1;
  }

  /// Reads until that much was written to standard output or, in `wait_for_message`, that text to standard error.
  void wait_for_output(std::size_t bytes) {
    while (result_.out.size() < bytes && read_some(clock::now() + limit)) {
    }
  }
  void wait_for_message(std::string const& text) {
    while (result_.err.find(text) == std::string::npos && read_some(clock::now() + limit)) {
    }
  }

  /// Reads what is left and waits for the end.
  ended wait() {
    auto const start = clock::now();
    while (read_some(start + limit)) {
    }
    bool const late = clock::now() >= start + limit;
    if (late) ::kill(id_, SIGKILL);
    int status = 0;
    ::waitpid(id_, &status, 0);
    id_ = -1;
    result_.code = late ? -1 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    result_.seconds = std::chrono::duration<double>(clock::now() - start).count();
    return result_;
  }

private:
  using clock = std::chrono::steady_clock;
  static constexpr auto limit = std::chrono::seconds(60);

  /// False at the end of both, and when it is too late.
  bool read_some(clock::time_point until) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
    std::array<pollfd, 2> files{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}}; // negative numbers are left out
    if (left <= 0 || (out_ < 0 && err_ < 0) || ::poll(files.data(), files.size(), static_cast<int>(left)) <= 0)
      return false;
    if (files[0].revents != 0) read_into(result_.out, out_);
    if (files[1].revents != 0) read_into(result_.err, err_);
    return true;
  }

  static void read_into(std::string& text, int& file) {
    std::array<char, 65536> bytes;
    auto const count = ::read(file, bytes.data(), bytes.size());
    if (count > 0) {
      text.append(bytes.data(), static_cast<std::size_t>(count));
    } else {
      ::close(file);
      file = -1;
    }
  }

  pid_t id_ = -1;
  int out_ = -1;
  int err_ = -1;
  ended result_;
};

inline ended run(std::vector<std::string> arguments, std::string const& input = "") {
  return process(std::move(arguments), input).wait();
}

} // namespace mk::test
