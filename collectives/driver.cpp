#include "collectives/driver.hpp"

#include <sched.h>

#include <algorithm>

#include "base/clock.hpp"

namespace gyre::collectives {

namespace {

/// Polls between two looks at the clock.
constexpr int polls_between_clocks = 32;
/// A sleeper looks around this often even if nobody rings: it bounds what a lost wake-up could
/// cost.
constexpr std::int64_t sleep_ns_max = 100'000'000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Notes the time for the current operation and fails it if its deadline has passed. Returns what
/// is left, 0 or less when nothing is.
std::int64_t look(Communicator& communicator, std::int64_t now_ns) {
  Operation& operation = *communicator.current();
  if (operation.first_look_ns == 0) operation.first_look_ns = now_ns;
  operation.last_look_ns = now_ns;
  communicator.note_progress();
  communicator.notice_departures();
  const std::int64_t left_ns = operation.first_look_ns + operation.timeout_ns - now_ns;
  if (left_ns <= 0) communicator.expire(operation);
  return left_ns;
}

/// One wait, from the first look at the clock to its end.
class LongWait {
 public:
  LongWait(Communicator& communicator, std::uint64_t sequence, const WaitPolicy& policy)
      : communicator_(communicator), sequence_(sequence), policy_(policy) {}

  Status run() {
    for (;;) {
      const Progress progress = communicator_.progress();
      if (communicator_.finished(sequence_)) return {};
      if (progress == Progress::failed) return communicator_.failure();
      if (progress == Progress::working) {
        idle_since_ns_ = 0;
        continue;
      }
      if (polls_left_-- > 0) {
        pause();
        continue;
      }
      look_at_clock();
    }
  }

 private:
  void look_at_clock() {
    const std::int64_t now_ns = monotonic_now();
    const std::int64_t left_ns = look(communicator_, now_ns);
    if (left_ns <= 0) return;
    if (idle_since_ns_ == 0) idle_since_ns_ = now_ns;
    const std::int64_t idle_ns = now_ns - idle_since_ns_;
    if (idle_ns < policy_.spin_ns) {
      polls_left_ = polls_between_clocks;
    } else if (idle_ns < policy_.spin_ns + policy_.yield_ns) {
      sched_yield();
    } else {
      sleep(std::min(left_ns, sleep_ns_max));
    }
  }

  void sleep(std::int64_t timeout_ns) {
    transport::Endpoint& endpoint = communicator_.endpoint();
    endpoint.prepare_sleep();
    if (communicator_.progress() != Progress::waiting) return endpoint.cancel_sleep();
    endpoint.sleep(timeout_ns);
    idle_since_ns_ = 0;
  }

  Communicator& communicator_;
  const std::uint64_t sequence_;
  const WaitPolicy policy_;
  std::int64_t idle_since_ns_ = 0;
  int polls_left_ = 0;
};

}  // namespace

WaitPolicy wait_policy(int ranks, int cores) {
  if (ranks <= cores) return {};
  // Who is waited for may need this very core: every poll that finds nothing delays it.
  return {.first_polls = 2, .spin_ns = 0, .yield_ns = 100'000};
}

bool poll(Communicator& communicator, std::uint64_t sequence) {
  const Progress progress = communicator.progress();
  if (communicator.finished(sequence) || progress == Progress::failed) return true;
  if (progress == Progress::waiting) look(communicator, monotonic_now());
  return communicator.endpoint().aborted();
}

Status wait(Communicator& communicator, std::uint64_t sequence, const WaitPolicy& policy) {
  for (int poll = 0; poll < policy.first_polls; ++poll) {
    const Progress progress = communicator.progress();
    if (communicator.finished(sequence)) return {};
    if (progress == Progress::failed) return communicator.failure();
  }
  return LongWait(communicator, sequence, policy).run();
}

}  // namespace gyre::collectives
