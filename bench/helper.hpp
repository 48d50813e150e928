// The life of one rank process (or, for gyre --threads, rank thread): connect to gyre-bench, say
// hello, then wait in read(2) for commands. Each peer program is this header and a Library
// (bench/turn.hpp). Its arguments, after whatever its launcher takes away:
//
//   --socket NAME      abstract unix socket of the coordinator
//   --variant NAME     for the hello
//   --rank R --size N  where no launcher gives them (gloo)
//   --directory D      an empty scratch folder shared by the ranks (gloo's rendezvous)
#pragma once

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "bench/protocol.hpp"
#include "bench/turn.hpp"

namespace gyre::bench {

struct HelperArguments {
  std::string socket;
  std::string variant = "default";
  std::string directory;
  int rank = -1;  ///< -1: the launcher knows
  int size = -1;
};

/// False, with *error set, for an argument that is unknown, incomplete or out of range.
inline bool parse_helper_arguments(int argc, char** argv, HelperArguments* arguments,
                                   std::string* error) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 >= argc) return *error = name + ": value missing", false;
    const std::string value = argv[i + 1];
    char* end = nullptr;
    const long number = strtol(value.c_str(), &end, 10);
    const bool is_number = !value.empty() && *end == 0 && number >= 0 && number <= helper_ranks_max;
    if (name == "--socket")
      arguments->socket = value;
    else if (name == "--variant")
      arguments->variant = value;
    else if (name == "--directory")
      arguments->directory = value;
    else if (name == "--rank" && is_number)
      arguments->rank = static_cast<int>(number);
    else if (name == "--size" && is_number)
      arguments->size = static_cast<int>(number);
    else
      return *error = name + " " + value + ": unknown argument, or value out of range", false;
  }
  if (arguments->socket.empty()) return *error = "--socket NAME is missing", false;
  return true;
}

/// Call first thing in main: the process shall not outlive its launcher.
inline void die_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

/// Kills the process if an order lasts longer than it may. Threads that share a process share it:
/// the last one armed counts, and all are given the same deadline.
inline void arm_deadline(std::uint32_t deadline_ms) {
  itimerval timer{};
  timer.it_value.tv_sec = deadline_ms / 1000;
  timer.it_value.tv_usec = static_cast<int>(deadline_ms % 1000) * 1000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

inline constexpr std::uint32_t prepare_deadline_ms = 120'000;

/// Self-test: a thread that burns CPU while it should sleep.
class Spinner {
 public:
  ~Spinner() { stop(); }
  void start() {
    stop();
    running_.store(true);
    thread_ = std::thread([this] {
      while (running_.load(std::memory_order_relaxed)) keep(this);
    });
  }
  void stop() {
    running_.store(false);
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> running_{false};
  std::thread thread_;
};

inline Reply pin_to(int cpu) {
  Reply reply;
  if (cpu < 0) return reply;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    reply.outcome = Outcome::failed;
    put_text(reply.error, "pinning to cpu " + std::to_string(cpu) + ": " + std::strerror(errno));
  }
  return reply;
}

/// Serves commands on `fd` until quit or the end of the stream. 0, or 1 after a protocol error.
template <typename Library>
int serve(int fd, Library& library, const std::string& variant) {
  Hello hello;
  hello.rank = library.rank();
  hello.size = library.size();
  hello.pid = static_cast<std::int32_t>(::getpid());
  put_text(hello.library, library.name());
  put_text(hello.variant, variant);
  put_text(hello.version, library.version());
  if (!write_all(fd, &hello, sizeof hello)) return 1;

  Turns<Library> turns(library);
  Spinner spinner;
  Command command;
  while (read_all(fd, &command, sizeof command)) {
    Reply reply;
    spinner.stop();
    const std::string wrong = defect(command);
    if (!wrong.empty()) {
      reply.outcome = Outcome::failed;
      put_text(reply.error, wrong);
    } else if (command.order == Order::quit) {
      return 0;
    } else if (command.order == Order::pin) {
      reply = pin_to(command.cpu);
    } else if (command.order == Order::prepare) {
      arm_deadline(prepare_deadline_ms);
      reply = turns.prepare(command.operation);
    } else if (command.order == Order::turn) {
      arm_deadline(command.turn.deadline_ms);
      reply = turns.turn(command.turn);
    } else if (command.order == Order::release) {
      reply = turns.release();
    } else {
      spinner.start();
    }
    arm_deadline(0);
    if (!write_all(fd, &reply, sizeof reply)) return 1;
  }
  return 0;
}

/// Connects and serves. The exit code of a helper's main.
template <typename Library>
int run_helper(const HelperArguments& arguments, Library& library) {
  const int fd = connect_to(arguments.socket);
  if (fd < 0) {
    std::fprintf(stderr, "gyre-bench helper: connecting to %s: %s\n", arguments.socket.c_str(),
                 std::strerror(errno));
    return 1;
  }
  const int code = serve(fd, library, arguments.variant);
  ::close(fd);
  return code;
}

}  // namespace gyre::bench
