// The few statistics that the figures are made of. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/protocol.hpp"

namespace gyre::bench {

/// Middle value, or the mean of the middle two; 0 for none.
double median(std::vector<double> values);

/// 0 for none, or if one is not positive.
double geometric_mean(std::span<const double> values);

/// What one turn of all ranks of one library says.
struct TurnFigure {
  double time_us = 0;   ///< of one call
  double whole_us = 0;  ///< of one iteration, rewriting and reading included: how long turns last
  double p50_us = 0;    ///< of single calls, maximum over ranks; 0 if not asked for
  double p99_us = 0;
  std::uint64_t wrong = 0;                ///< elements, over all ranks
  std::vector<std::uint64_t> bytes_sent;  ///< by each rank, in one call
  int wrong_rank = -1;                    ///< the first with a wrong element
  Reply wrong_reply;                      ///< that rank's
  std::string algorithm;                  ///< rank 0's
};

/// The shortest time that a figure can say; below, the loop and the loop less the call differ by
/// less than the clock's noise.
inline constexpr double time_us_min = 0.001;

/// From the first rank's start to the last rank's end, less the same loop without the call, divided
/// by `iterations`. `replies` are those of all ranks, in order, none of them failed.
TurnFigure figure_of(std::span<const Reply> replies, std::uint64_t iterations);

/// GB/s (1e9) by nccl-tests' definitions. `bytes` is the larger side of one rank.
double algbw_gbps(std::uint64_t bytes, double time_us);
double busbw_gbps(Collective collective, std::uint64_t bytes, double time_us, int ranks);

/// Bytes that memory must at least read and write for one call, all ranks together, if nothing
/// stays in a cache: the numerator of the share of the memory limit.
std::uint64_t least_traffic_bytes(Collective collective, std::uint64_t bytes, int ranks);

/// How many iterations make the faster of two libraries' turns last `turn_ms`, while the slower's
/// stays below 8 times that. Times are TurnFigure::whole_us, which noise can't make arbitrarily
/// small. At least 2, so that one can be stale.
std::uint64_t iterations_for(double fast_us, double slow_us, std::uint32_t turn_ms);

}  // namespace gyre::bench
