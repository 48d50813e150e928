// What the machine can do at best, measured beside every benchmark: how fast memory moves, and how
// long a cache line takes to another CPU and back. Uses no code of kernels/.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace gyre::bench {

/// One way to use memory. GB/s (1e9) of bytes that the program reads and writes; what the caches
/// read on their own before a regular store is not counted.
struct MemoryRate {
  std::string loop;  ///< "add"
  bool streamed = false;
  double gb_per_s = 0;
};

struct MemoryLimit {
  std::vector<MemoryRate> rates;
  MemoryRate best;
  std::size_t buffer_bytes = 0;  ///< of each of up to four
};

/// Each buffer is this many times the last-level caches in use, so that they matter little.
inline constexpr std::size_t buffers_per_cache = 4;

/// The best of copy, fill, add (two reads, a write) and double (two reads, two writes), each with
/// regular and non-temporal stores, and of the C library's memcpy and memset, by one thread on each
/// of `cpus`. `buffer_bytes` of each buffer, all threads together; four are allocated. Blocks for
/// about `rounds` x 0.2 s.
Result<MemoryLimit> measure_memory_limit(std::span<const int> cpus, std::size_t buffer_bytes,
                                         std::size_t rounds = 5);

/// Nanoseconds (median) from a release store by a process on `first_cpu`, seen by another process
/// on `second_cpu` in an acquire load, to seeing that one's answer. The calling thread's CPU mask
/// is restored. 100 trips make a batch; 2,000 batches take some 50 ms, at most a second or so; an
/// error if an answer takes 10 s.
Result<double> measure_round_trip_ns(int first_cpu, int second_cpu, std::size_t batches = 2000);

}  // namespace gyre::bench
