#include "bench/turn_taking.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gyre::bench {

Result<TurnFigure> take_turn(Side& side, const std::vector<Side*>& others, TurnOrder order,
                             Referee& referee) {
  TurnLog& log = referee.log;
  std::string culprit;
  double share = 0;
  int moves = 0;
  for (int attempt = 0; attempt <= repeats_max;) {
    if (referee.steadiness) referee.steadiness->settle();
    // The warm-up and the percentile pass use rounds of their own behind the measured ones.
    order.first_round =
        referee.rounds.take(order.iterations + order.warm_up + order.percentile_calls);
    std::vector<std::uint64_t> before_ns;
    for (const Side* other : others) before_ns.push_back(other->cpu_ns());
    const std::uint64_t start_ns = referee.now_ns();
    auto figure = side.turn(order);
    const std::uint64_t duration_ns = std::max<std::uint64_t>(1, referee.now_ns() - start_ns);
    if (!figure) return figure;
    ++log.taken;
    culprit.clear();
    for (std::size_t i = 0; i < others.size(); ++i) {
      const double used_ns = static_cast<double>(others[i]->cpu_ns() - before_ns[i]);
      share = used_ns / static_cast<double>(duration_ns);
      if (share > log.idle_share) {
        log.idle_share = share;
        log.idle_label = others[i]->label();
      }
      if (share > idle_share_max) {
        culprit = others[i]->label();
        break;
      }
    }
    if (!culprit.empty()) {
      ++log.discarded;
      ++attempt;
    } else if (referee.steadiness && moves < moves_max && !referee.steadiness->steady()) {
      ++log.moved;
      ++moves;
    } else {
      return figure;
    }
  }
  return Status(
      Code::peer_failed,
      fmt::format("{} used the CPU for {:.0f} % of {}'s turn, {} times in a row; it has to "
                  "sleep when it is not its turn",
                  culprit, 100 * share, side.label(), repeats_max + 1));
}

Result<PairsResult> take_pairs(Side& ours, Side& theirs, const std::vector<Side*>& idle,
                               const TurnOrder& order, int pairs, Referee& referee) {
  PairsResult result;
  std::vector<double> ratios;
  std::vector<Side*> not_ours = idle;
  not_ours.push_back(&theirs);
  std::vector<Side*> not_theirs = idle;
  not_theirs.push_back(&ours);
  for (int pair = 0; pair < pairs; ++pair) {
    auto our_figure = take_turn(ours, not_ours, order, referee);
    if (!our_figure) return our_figure.status();
    auto their_figure = take_turn(theirs, not_theirs, order, referee);
    if (!their_figure) return their_figure.status();
    ratios.push_back(their_figure->time_us / our_figure->time_us);
    result.ours.push_back(std::move(*our_figure));
    result.theirs.push_back(std::move(*their_figure));
  }
  result.ratio = median(ratios);
  if (!ratios.empty()) {
    result.ratio_min = *std::min_element(ratios.begin(), ratios.end());
    result.ratio_max = *std::max_element(ratios.begin(), ratios.end());
  }
  return result;
}

double median_time_us(const std::vector<TurnFigure>& figures) {
  std::vector<double> times;
  for (const auto& figure : figures) times.push_back(figure.time_us);
  return median(std::move(times));
}

std::uint64_t most_wrong(const std::vector<TurnFigure>& figures) {
  std::uint64_t most = 0;
  for (const auto& figure : figures) most = std::max(most, figure.wrong);
  return most;
}

}  // namespace gyre::bench
