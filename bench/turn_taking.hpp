// A B A B: two libraries take turns at one size while all others sleep. A turn during which another
// library used the CPU is thrown away, counted, and repeated a bounded number of times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "bench/side.hpp"
#include "bench/steadiness.hpp"

namespace gyre::bench {

/// Of a turn's duration; more CPU time than this used by libraries whose turn it is not, and the
/// turn does not count.
inline constexpr double idle_share_max = 0.01;
/// How often one turn is repeated for that reason.
inline constexpr int repeats_max = 3;
/// How often one turn is repeated because the cpus were moved meanwhile; the last one counts.
inline constexpr int moves_max = 8;

/// Nanoseconds of a clock that never goes back.
using ClockFunction = std::function<std::uint64_t()>;

/// Rounds that no two turns of a run share, so that a stale result never equals a right one.
class Rounds {
 public:
  /// The first of `count` fresh rounds.
  std::uint64_t take(std::uint64_t count) {
    const std::uint64_t first = next_;
    next_ += count;
    return first;
  }

 private:
  std::uint64_t next_ = 1;
};

struct TurnLog {
  std::uint64_t taken = 0;
  std::uint64_t discarded = 0;
  std::uint64_t moved = 0;  ///< discarded because the host moved the cpus meanwhile
  /// Largest share of a turn's duration for which another library used the CPU, and which.
  double idle_share = 0;
  std::string idle_label;
};

/// What all turns of a run go through.
struct Referee {
  ClockFunction now_ns;
  Steadiness* steadiness = nullptr;  ///< none: nobody looks whether the cpus move
  Rounds rounds;
  TurnLog log;
};

/// One turn of `side`, during which the cpus stayed where they are. `others` sleep meanwhile; an
/// error names the one that did not.
Result<TurnFigure> take_turn(Side& side, const std::vector<Side*>& others, TurnOrder order,
                             Referee& referee);

struct PairsResult {
  std::vector<TurnFigure> ours;
  std::vector<TurnFigure> theirs;
  double ratio = 0;      ///< median of the pairs' ratios, their time / our time
  double ratio_min = 0;  ///< the spread of the pairs
  double ratio_max = 0;
};

/// `pairs` times: our turn, then theirs.
Result<PairsResult> take_pairs(Side& ours, Side& theirs, const std::vector<Side*>& idle,
                               const TurnOrder& order, int pairs, Referee& referee);

/// Median time of several turns of one library.
double median_time_us(const std::vector<TurnFigure>& figures);

/// The largest number of wrong elements in any of the turns.
std::uint64_t most_wrong(const std::vector<TurnFigure>& figures);

}  // namespace gyre::bench
