#include "transport/shm/host_memory.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "base/sanitizers.hpp"

namespace gyre::transport::shm {
namespace {

long membarrier(int command) { return syscall(SYS_membarrier, command, 0U, 0); }

}  // namespace

FenceMode register_fences() {
  if (under_thread_sanitizer) return FenceMode::symmetric;
  const long offered = membarrier(MEMBARRIER_CMD_QUERY);
  if (offered < 0 || (offered & MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0) return FenceMode::symmetric;
  if (membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) != 0) return FenceMode::symmetric;
  // One try now, so that a filter which forbids just this command shows here and not in a sleeper.
  return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0 ? FenceMode::asymmetric
                                                          : FenceMode::symmetric;
}

// Cannot fail once register_fences() has tried it.
void HostMemory::sleeper_fence() { membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

// Neither call is FUTEX_PRIVATE: the word is shared between processes.
void HostMemory::futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                            std::int64_t timeout_ns) {
  if (timeout_ns <= 0) return;
  constexpr std::int64_t second_ns = 1'000'000'000;
  timespec relative{};
  relative.tv_sec = static_cast<time_t>(timeout_ns / second_ns);
  relative.tv_nsec = static_cast<long>(timeout_ns % second_ns);
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &relative, nullptr, 0);
}

void HostMemory::futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace gyre::transport::shm
