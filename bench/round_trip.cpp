// The round trip of bench/limits.hpp: two processes, two cache lines of shared anonymous memory.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <vector>

#include "bench/limits.hpp"

namespace gyre::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t trips_per_batch = 100;  // so that reading the clock weighs little
constexpr std::chrono::seconds enough{1};       // a busy machine gets fewer batches
constexpr std::chrono::seconds time_max{10};    // for one answer

/// The value of `ping` that ends the other process.
constexpr std::uint64_t farewell = ~std::uint64_t{0};

struct alignas(128) Line {  // 128: adjacent lines are fetched in pairs
  std::atomic<std::uint64_t> count{0};
};

/// What `ready` says.
constexpr std::uint64_t started = 1;
constexpr std::uint64_t refused = 2;

struct Board {
  Line ping;
  Line pong;
  Line ready;
};

/// False if it did not happen in time. After polling for long, the other one does not run: makes
/// room for it.
bool wait_for(const std::atomic<std::uint64_t>& count, std::uint64_t value) {
  Clock::time_point deadline{};
  for (std::uint64_t polls = 1; count.load(std::memory_order_acquire) < value; ++polls) {
    if (polls % 4096 != 0) continue;
    if (deadline == Clock::time_point{}) deadline = Clock::now() + time_max;
    if (Clock::now() > deadline) return false;
    ::sched_yield();
  }
  return true;
}

bool pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu < 0 || cpu >= CPU_SETSIZE) return errno = EINVAL, false;
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

/// The other process. It only makes system calls that are safe after fork, and never returns.
[[noreturn]] void answer(Board& board, int cpu) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool pinned = pin(cpu);
  board.ready.count.store(pinned ? started : refused, std::memory_order_release);
  if (!pinned) ::_exit(1);
  for (std::uint64_t trip = 1;; ++trip) {
    if (!wait_for(board.ping.count, trip)) ::_exit(1);
    if (board.ping.count.load(std::memory_order_relaxed) == farewell) ::_exit(0);
    board.pong.count.store(trip, std::memory_order_release);
  }
}

Result<double> ask(Board& board, int cpu, std::size_t batches_max) {
  if (!pin(cpu)) return system_error("pinning to a CPU", errno);
  if (!wait_for(board.ready.count, started))
    return Status(Code::timeout, "round trip: the other process did not start");
  if (board.ready.count.load(std::memory_order_relaxed) == refused)
    return Status(Code::system, "round trip: the other process may not run on its CPU");
  std::vector<double> batch_ns;
  batch_ns.reserve(batches_max);
  std::uint64_t trip = 0;
  const auto begin = Clock::now();
  for (auto start = begin; batch_ns.size() < batches_max && start - begin < enough;) {
    for (std::uint64_t i = 0; i < trips_per_batch; ++i) {
      board.ping.count.store(++trip, std::memory_order_release);
      if (!wait_for(board.pong.count, trip))
        return Status(Code::timeout, "round trip: the other process stopped answering");
    }
    const auto end = Clock::now();
    batch_ns.push_back(std::chrono::duration<double, std::nano>(end - start).count() /
                       static_cast<double>(trips_per_batch));
    start = end;
  }
  board.ping.count.store(farewell, std::memory_order_release);
  const auto middle = batch_ns.begin() + static_cast<std::ptrdiff_t>(batch_ns.size() / 2);
  std::nth_element(batch_ns.begin(), middle, batch_ns.end());
  return *middle;
}

}  // namespace

Result<double> measure_round_trip_ns(int first_cpu, int second_cpu, std::size_t batches) {
  if (first_cpu == second_cpu)
    return Status(Code::unsupported, "a round trip needs two CPUs; allow a second one");
  void* const memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return system_error("mapping memory for the round trip", errno);
  Board& board = *new (memory) Board;
  cpu_set_t before;
  CPU_ZERO(&before);
  const bool known = ::sched_getaffinity(0, sizeof before, &before) == 0;
  const pid_t child = ::fork();
  if (child == 0) answer(board, second_cpu);
  Result<double> result = system_error("starting a process for the round trip", errno);
  if (child > 0) {
    result = ask(board, first_cpu, batches);
    if (!result.ok()) ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (known) ::sched_setaffinity(0, sizeof before, &before);
  ::munmap(memory, sizeof(Board));
  return result;
}

}  // namespace gyre::bench
