#include "transport/sim/world.hpp"

#include <algorithm>
#include <utility>

namespace gyre::transport {

std::string_view name_of(SimOutcome::End end) {
  switch (end) {
    case SimOutcome::End::all_done: return "all done";
    case SimOutcome::End::stuck: return "stuck";
    case SimOutcome::End::late: return "late";
    case SimOutcome::End::endless: return "endless";
  }
  return "?";
}

SimWorld::SimWorld(SimNetwork& network, std::vector<Program> programs)
    : network_(network), programs_(std::move(programs)), ranks_(programs_.size()) {}

bool SimWorld::finished() const {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (ranks_[i].done || !network_.alive(rank)) continue;
    if (network_.stopped_until(rank) != SimPause::forever) return false;
  }
  return true;
}

Nanoseconds SimWorld::ready_at(int index) {
  Rank& rank = ranks_[static_cast<std::size_t>(index)];
  if (rank.done || !network_.alive(index)) return SimPause::forever;
  Nanoseconds at = std::max(rank.ready_at, network_.stopped_until(index));
  if (network_.sleeps(index)) return std::max(at, network_.sleeps_until(index));
  if (rank.waiting && network_.take_ring(index)) rank.waiting = false;
  if (rank.waiting) at = std::max(at, rank.until);
  return at;
}

void SimWorld::step(int index) {
  Rank& rank = ranks_[static_cast<std::size_t>(index)];
  if (!network_.begin_step(index)) return;
  network_.take_ring(index);
  const Nanoseconds offset = network_.now_at(index) - network_.now();
  const SimStep result = programs_[static_cast<std::size_t>(index)](network_.now_at(index));
  rank.done = result.state == SimStep::State::done;
  rank.waiting = result.state == SimStep::State::waiting;
  rank.until = result.until == SimPause::forever ? result.until : result.until - offset;
  rank.ready_at = network_.now() + network_.step_cost(index);
  network_.end_step(index);
}

SimOutcome SimWorld::run(Nanoseconds deadline, std::uint64_t steps_max) {
  SimOutcome outcome;
  std::vector<int> ready;
  for (; !finished(); outcome.at = network_.now()) {
    network_.advance(network_.now());
    ready.clear();
    Nanoseconds next = network_.next_event_at();
    for (int rank = 0; rank < network_.ranks(); ++rank) {
      const Nanoseconds at = ready_at(rank);
      if (at <= network_.now()) ready.push_back(rank);
      next = std::min(next, at);
    }
    if (ready.empty()) {
      if (next == SimPause::forever)
        outcome.end = SimOutcome::End::stuck;
      else if (next > deadline)
        outcome.end = SimOutcome::End::late;
      if (outcome.end != SimOutcome::End::all_done) return outcome;
      network_.advance(next);
      continue;
    }
    step(network_.random().pick(std::span(ready)));
    if (++outcome.steps >= steps_max) {
      outcome.end = SimOutcome::End::endless;
      return outcome;
    }
  }
  return outcome;
}

}  // namespace gyre::transport
