// Ctrl-C and SIGTERM as a descriptor that every wait of gyre-bench also waits on, so that it always
// leaves through its destructors.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "base/unique_fd.hpp"

namespace gyre::bench {

class Interrupt {
 public:
  /// Blocks SIGINT, SIGTERM and SIGHUP for the process; call it before any thread is made.
  static Result<Interrupt> make() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return system_error("sigprocmask", errno);
    const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) return system_error("signalfd", errno);
    return Interrupt(UniqueFd(fd));
  }

  int fd() const { return fd_.get(); }

  /// A signal has come; it stays so.
  bool raised() const {
    pollfd poll_fd{fd_.get(), POLLIN, 0};
    return ::poll(&poll_fd, 1, 0) == 1;
  }

  /// "SIGTERM of process 123"; "" where none has come. Takes the signal away: for the last words.
  std::string description() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return "";
    const int signal = static_cast<int>(info.ssi_signo);
    const char* name = signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
    // A terminal's Ctrl-C comes from the kernel, which has no process.
    return info.ssi_pid == 0 ? name
                             : std::string(name) + " of process " + std::to_string(info.ssi_pid);
  }

 private:
  explicit Interrupt(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace gyre::bench
