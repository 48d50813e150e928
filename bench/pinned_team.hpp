// One thread per CPU, doing the same thing at the same time, with a clock around it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace gyre::bench {

struct RoundTimes {
  double seconds = 0;          ///< from the first thread's start to the last one's end
  double slowest_seconds = 0;  ///< of the thread that took longest, its late start not counted
};

/// Runs work(thread, round) on one thread pinned to each of `cpus`. All threads begin a round
/// together. Blocks until all rounds are done; an error if a thread can't be pinned.
Result<std::vector<RoundTimes>> run_pinned(
    std::span<const int> cpus, std::size_t rounds,
    const std::function<void(std::size_t thread, std::size_t round)>& work);

}  // namespace gyre::bench
