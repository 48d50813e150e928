#include "schedules/checker/execution.hpp"

#include <algorithm>

#include "schedules/checker/describe.hpp"

namespace gyre::schedules::checker {

using Kind = Need::Kind;

Execution::Execution(const Schedule& schedule, const World& world, const Override* override)
    : schedule_(schedule),
      world_(world),
      tracks_(schedule.needs == Needs::mapped || world.channels > 1 ||
              schedule.collective == Collective::barrier),
      expressions_(world.size),
      links_(world.size, world.channels, world.slots) {
  report_.traffic.resize(static_cast<std::size_t>(world.size));
  lanes_left_.resize(static_cast<std::size_t>(world.channels));
  clock_when_all_left_.resize(static_cast<std::size_t>(world.channels));
  set_up_buffers();
  set_up_lanes(override);
}

/// The caller has written each rank's buffers before the call: epoch 1 of the rank's first lane.
void Execution::set_up_buffers() {
  memories_.resize(2 * static_cast<std::size_t>(world_.size));
  if (tracks_) histories_.resize(memories_.size());
  for (int rank = 0; rank < world_.size; ++rank) {
    layouts_.push_back(layout_of(schedule_.collective, world_, rank));
    fill(rank);
    if (!tracks_) continue;
    for (const std::size_t m : {memory_index(rank, false), memory_index(rank, true)})
      histories_[m].reset(memories_[m].count(), {static_cast<std::uint32_t>(rank), 1});
  }
}

void Execution::fill(int rank) {
  const Layout& layout = layouts_.back();
  Memory& input = memories_[memory_index(rank, false)];
  std::uint64_t base = layout.input_first;
  if (world_.in_place) {
    base = std::min(base, layout.output_first);
    input.reset(std::max(layout.input_count, layout.output_count));
  } else {
    input.reset(layout.input_count);
    memories_[memory_index(rank, true)].reset(layout.output_count);
  }
  input.write(layout.input_first - base,
              {{layout.input_count, layout.input_first, expressions_.leaf(rank)}});
}

void Execution::set_up_lanes(const Override* override) {
  if (override != nullptr) {
    replaced_rank_ = override->rank;
    replaced_ = override->actions;
  }
  const std::size_t count =
      static_cast<std::size_t>(world_.size) * static_cast<std::size_t>(world_.channels);
  lanes_.resize(count);
  for (int channel = 0; channel < world_.channels; ++channel) {
    for (int rank = 0; rank < world_.size; ++rank) {
      Lane& lane = lane_at(rank, channel);
      lane.rank = rank;
      lane.channel = channel;
      lane.plan = plan_of(world_, rank, channel);
      const bool replaced = rank == replaced_rank_ && channel == 0;
      lane.steps = replaced ? replaced_.size() : step_count(schedule_, lane.plan);
      lane.scratch.reset(world_.piece_elements);
      if (!tracks_) continue;
      lane.clock.resize(count);
      lane.clock[static_cast<std::size_t>(rank)] = 1;  // its own caller has written
      ++lane.clock[static_cast<std::size_t>(lane_index(lane))];
    }
  }
}

Report Execution::run() {
  for (std::size_t i = lanes_.size(); i-- > 0;) {
    ready_.push_back(static_cast<int>(i));
    lanes_[i].queued = true;
  }
  while (!ready_.empty() && !failed()) {
    Lane& lane = lanes_[static_cast<std::size_t>(ready_.back())];
    ready_.pop_back();
    lane.queued = false;
    advance(lane);
  }
  if (!failed()) report_.reason = deadlock();
  if (!failed()) judge();
  return std::move(report_);
}

bool Execution::load(Lane& lane) {
  const bool replaced = lane.rank == replaced_rank_ && lane.channel == 0;
  lane.action = replaced ? replaced_[lane.step] : action_at(schedule_, lane.plan, lane.step);
  lane.loaded = true;
  lane.phase = 0;
  lane.index = 0;
  const char* fault = why_malformed(lane.action, lane.rank, world_.size);
  if (fault != nullptr) fail(lane, fault);
  return fault == nullptr;
}

/// Takes actions until one has to wait.
void Execution::advance(Lane& lane) {
  while (lane.step < lane.steps) {
    if (!lane.loaded && !load(lane)) return;
    lane.blocked = first_unmet(lane);
    if (lane.blocked.kind != Kind::nothing) return;
    wait_for_event(lane);
    if (lane.action.count > 0) move(lane);
    if (failed()) return;
    signal_event(lane);
    lane.loaded = false;
    ++lane.step;
    ++report_.actions;
  }
}

/// An action's needs, in phases: the event, two sources, two destinations.
Need Execution::need_of(const Lane& lane, int phase) const {
  // All ranks enter, sooner or later, so that alone never blocks.
  if (phase == 0) return lane.action.wait == Event::left ? Need{Kind::left} : Need{};
  if (lane.action.count == 0) return {};
  if (phase <= 2) {
    const Operand& source = lane.action.source[phase - 1];
    switch (source.place) {
      case Place::slot: return {Kind::message, source.peer};
      case Place::cast: return {Kind::cast_message, source.peer};
      case Place::every_slot: return {Kind::message};
      case Place::every_cast: return {Kind::cast_message};
      default: return {};
    }
  }
  const Operand& destination = lane.action.destination[phase - 3];
  if (destination.place == Place::slot) return {Kind::credit, destination.peer};
  if (destination.place == Place::cast) return {Kind::cast_credit};
  return {};
}

bool Execution::is_met(const Lane& lane, Kind kind, int peer) const {
  const int mine = lane_index(lane);
  const int theirs = lane_index(peer, lane.channel);
  switch (kind) {
    case Kind::nothing: return true;
    case Kind::message: return links_.has_message(theirs, lane.rank);
    case Kind::credit: return links_.has_credit(mine, peer);
    case Kind::cast_message: return links_.has_cast(theirs, lane.rank);
    case Kind::cast_credit: return links_.has_cast_credit(mine, peer);
    case Kind::left: return lanes_[static_cast<std::size_t>(theirs)].has_left;
  }
  return true;
}

/// Goes on where it stopped the last time: what was met stays met until the action is taken.
Need Execution::first_unmet(Lane& lane) {
  constexpr int phases = 5;
  for (; lane.phase < phases; ++lane.phase, lane.index = 0) {
    const Need need = need_of(lane, lane.phase);
    if (need.kind == Kind::nothing) continue;
    if (need.peer != Need::every_peer) {
      if (!is_met(lane, need.kind, need.peer)) return need;
      continue;
    }
    for (; lane.index < world_.size; ++lane.index)
      if (lane.index != lane.rank && !is_met(lane, need.kind, lane.index))
        return {need.kind, lane.index};
  }
  return {};
}

void Execution::wake(int rank, int channel, Need met) {
  Lane& lane = lane_at(rank, channel);
  if (lane.queued || !lane.loaded || lane.blocked != met) return;
  lane.queued = true;
  ready_.push_back(lane_index(lane));
}

void Execution::wait_for_event(Lane& lane) {
  if (!tracks_ || lane.action.wait == Event::none) return;
  if (lane.action.wait == Event::entered) {
    for (int rank = 0; rank < world_.size; ++rank) {
      std::uint32_t& seen = lane.clock[static_cast<std::size_t>(rank)];
      seen = std::max(seen, 1u);
    }
    return;
  }
  const auto channel = static_cast<std::size_t>(lane.channel);
  Clock& all = clock_when_all_left_[channel];
  if (all.empty() && lanes_left_[channel] == world_.size) {
    all.resize(lanes_.size());
    for (int rank = 0; rank < world_.size; ++rank)
      join(all, lane_at(rank, lane.channel).clock_when_left);
  }
  if (!all.empty()) return join(lane.clock, all);
  for (int rank = 0; rank < world_.size; ++rank)
    if (rank != lane.rank) join(lane.clock, lane_at(rank, lane.channel).clock_when_left);
}

/// Only the first time counts: peers may have seen it by the second.
void Execution::signal_event(Lane& lane) {
  if (lane.action.signal != Event::left || lane.has_left) return;
  lane.has_left = true;
  ++lanes_left_[static_cast<std::size_t>(lane.channel)];
  if (tracks_) lane.clock_when_left = *released(lane);
  for (int rank = 0; rank < world_.size; ++rank) wake(rank, lane.channel, {Kind::left, lane.rank});
}

std::string Execution::deadlock() const {
  constexpr int named_max = 4;
  int blocked = 0;
  std::string text;
  for (const Lane& lane : lanes_) {
    if (lane.step == lane.steps) continue;
    if (++blocked > named_max) continue;
    text += blocked == 1 ? "deadlock: rank " : "; rank ";
    text += std::to_string(lane.rank) + " step " + std::to_string(lane.step) + " (" +
            describe(lane.action) + ") waits for ";
    const std::string peer = std::to_string(lane.blocked.peer);
    switch (lane.blocked.kind) {
      case Kind::message: text += "a message from rank " + peer; break;
      case Kind::credit: text += "rank " + peer + " to read a message"; break;
      case Kind::cast_message: text += "what rank " + peer + " casts"; break;
      case Kind::cast_credit: text += "rank " + peer + " to read what was cast"; break;
      case Kind::left: text += "rank " + peer + " to leave"; break;
      case Kind::nothing: text += "nothing"; break;
    }
  }
  if (blocked > named_max) text += "; and " + std::to_string(blocked - named_max) + " more";
  return text;
}

void Execution::fail(const Lane& lane, const std::string& what) {
  if (failed()) return;
  report_.reason = "rank " + std::to_string(lane.rank) + " step " + std::to_string(lane.step) +
                   " (" + describe(lane.action) + ") " + what;
}

}  // namespace gyre::schedules::checker
