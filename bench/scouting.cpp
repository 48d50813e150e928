#include "bench/scouting.hpp"

#include <algorithm>

namespace gyre::bench {
namespace {

constexpr std::uint64_t first_guess_iterations = 20;
constexpr std::uint64_t warm_up_max = 2;
/// A first turn that is this many times slower than the best variant's is not repeated.
constexpr double clearly_slower = 1.5;

/// How many fill a turn at `bytes`, by what the last case took.
std::uint64_t guess_iterations(double last_whole_us, std::uint64_t last_bytes, std::uint64_t bytes,
                               std::uint32_t turn_ms) {
  if (last_bytes == 0) return first_guess_iterations;
  const double growth = std::max(1.0, static_cast<double>(bytes) / static_cast<double>(last_bytes));
  // Small sizes cost the same: dividing by the growth would cut their turns short.
  const double expected_us = bytes <= 4096 ? last_whole_us : last_whole_us * growth;
  if (expected_us > turn_ms * 1e3) return 1;
  return iterations_for(expected_us, expected_us, turn_ms);
}

}  // namespace

Status scout(Side& side, const std::vector<Case>& cases, const ScoutLimits& limits,
             Referee& referee, ScoutTimes& best, ScoutTimes& times) {
  best.resize(cases.size());
  times.assign(cases.size(), std::nullopt);
  double last_whole_us = 0;
  std::uint64_t last_bytes = 0;
  int hopeless = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i > 0 && cases[i].bytes < cases[i - 1].bytes) hopeless = 0;  // the next type begins
    if (hopeless >= hopeless_cases) continue;
    const Status prepared = side.prepare(cases[i].operation);
    if (prepared.code() == Code::unsupported) continue;
    if (!prepared) return prepared;
    TurnOrder order;
    order.iterations = guess_iterations(last_whole_us, last_bytes, cases[i].bytes, limits.turn_ms);
    order.warm_up = std::min(warm_up_max, order.iterations);
    order.verify = 0;  // the turns that count are verified
    order.untouched = limits.untouched;
    for (int turn = 0; turn < limits.turns; ++turn) {
      const auto figure = take_turn(side, {}, order, referee);
      if (!figure) return figure.status();
      if (!times[i] || figure->time_us < times[i]->time_us)
        times[i] = ScoutTime{figure->time_us, figure->whole_us};
      // A call that fills a turn alone needs no second opinion, nor does one that can't win.
      if (figure->whole_us > limits.turn_ms * 1e3) break;
      if (best[i] && figure->time_us > clearly_slower * best[i]->time_us) break;
    }
    last_whole_us = times[i]->whole_us;
    last_bytes = cases[i].bytes;
    const double time_us = times[i]->time_us;
    hopeless = best[i] && time_us > best[i]->time_us * hopeless_factor ? hopeless + 1 : 0;
    if (!best[i] || time_us < best[i]->time_us) best[i] = times[i];
  }
  return {};
}

std::vector<int> fastest(const std::vector<ScoutTimes>& times_of_variants, std::size_t cases) {
  std::vector<int> winners(cases, -1);
  for (std::size_t i = 0; i < cases; ++i)
    for (std::size_t v = 0; v < times_of_variants.size(); ++v) {
      const auto& times = times_of_variants[v];
      if (i >= times.size() || !times[i]) continue;
      const int best = winners[i];
      if (best < 0 ||
          times[i]->time_us < times_of_variants[static_cast<unsigned>(best)][i]->time_us)
        winners[i] = static_cast<int>(v);
    }
  return winners;
}

}  // namespace gyre::bench
