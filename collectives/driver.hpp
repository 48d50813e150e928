// Waits for operations: the only place on the data path that reads a clock, yields or sleeps.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "collectives/communicator.hpp"

namespace gyre::collectives {

/// How long to do what before giving the core away. Depends on whether ranks share cores.
struct WaitPolicy {
  int first_polls = 64;             ///< before the clock is read for the first time
  std::int64_t spin_ns = 50'000;    ///< polling, with no system call
  std::int64_t yield_ns = 200'000;  ///< then polling between sched_yield calls; then sleeping
};

/// Policy for `ranks` of one host on `cores` cores.
WaitPolicy wait_policy(int ranks, int cores);

/// Drives `communicator` until operation `sequence` has finished, the communicator has failed, or
/// the operation's deadline has passed (which fails it). The calling thread is the one that drives
/// it.
Status wait(Communicator& communicator, std::uint64_t sequence, const WaitPolicy& policy);

/// Advances once, without waiting; true when wait() would return at once. Notices the deadline.
bool poll(Communicator& communicator, std::uint64_t sequence);

}  // namespace gyre::collectives
