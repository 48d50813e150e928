// Which variant of a peer is its best at each size: every variant runs through all rows once,
// short, and the fastest of them is the peer that gyre is then compared with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/protocol.hpp"
#include "bench/side.hpp"
#include "bench/turn_taking.hpp"

namespace gyre::bench {

/// One row to be measured.
struct Case {
  std::uint64_t bytes = 0;
  Operation operation;  ///< out of place
};

/// Of one call, and of one iteration; see TurnFigure.
struct ScoutTime {
  double time_us = 0;
  double whole_us = 0;
  bool operator==(const ScoutTime&) const = default;
};

/// Times of one variant by case; none where it was not measured.
using ScoutTimes = std::vector<std::optional<ScoutTime>>;

struct ScoutLimits {
  std::uint32_t turn_ms = 5;  ///< how long a scouting turn lasts
  int turns = 2;              ///< the fastest counts
  bool untouched = false;
};

/// A variant that is this many times slower than the best of its peer, in several cases in a row,
/// is not tried at larger sizes.
inline constexpr double hopeless_factor = 3;
inline constexpr int hopeless_cases = 3;

/// Runs `side` through `cases`. `best` holds the peer's best times so far and is lowered. An error
/// ends the pass; what was measured before stays in `times`. A case that the library does not have
/// is skipped.
Status scout(Side& side, const std::vector<Case>& cases, const ScoutLimits& limits,
             Referee& referee, ScoutTimes& best, ScoutTimes& times);

/// For each case the index of the fastest variant; -1 where none was measured.
std::vector<int> fastest(const std::vector<ScoutTimes>& times_of_variants, std::size_t cases);

}  // namespace gyre::bench
