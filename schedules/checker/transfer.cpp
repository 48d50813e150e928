// How the checker moves symbolic data: Execution's part that takes one action.
#include <algorithm>

#include "schedules/checker/execution.hpp"

namespace gyre::schedules::checker {

using Kind = Need::Kind;

void Execution::move(Lane& lane) {
  if (!fits(lane)) return;
  if (overlaps_askew(lane))
    return fail(lane, "overlaps source and destination that begin at different elements");
  read_sources(lane);
  if (!failed()) reduce(lane);
  if (!failed() && lane.action.finalize) finalize(lane);
  for (const Operand& operand : lane.action.destination)
    if (!failed()) write(lane, operand);
}

/// Whether messages and scratch can hold what the action moves.
bool Execution::fits(Lane& lane) {
  const Action& action = lane.action;
  const auto is_bounded = [](const Operand& operand) {
    return operand.place == Place::slot || operand.place == Place::cast ||
           operand.place == Place::scratch || operand.place == Place::every_slot ||
           operand.place == Place::every_cast;
  };
  const bool bounded = std::ranges::any_of(action.source, is_bounded) ||
                       std::ranges::any_of(action.destination, is_bounded);
  if (!bounded || action.count <= world_.piece_elements) return true;
  fail(lane, "moves more than a slot or scratch holds");
  return false;
}

/// Kernels may store where they load from, element by element; anything else would read what this
/// action has just overwritten.
bool Execution::overlaps_askew(const Lane& lane) const {
  const Action& action = lane.action;
  const auto touches = [&](const Operand& operand, int rank) {
    switch (operand.place) {
      case Place::input:
      case Place::output:
      case Place::every_slot:
      case Place::every_cast: return rank == lane.rank;
      case Place::mapped_input: return rank == operand.peer;
      case Place::every_input:
      case Place::every_output: return true;
      default: return false;
    }
  };
  const auto overlap = [&](const Operand& source, const Operand& destination, int rank) {
    Spot a;
    Spot b;
    return touches(source, rank) && touches(destination, rank) && locate(lane, source, rank, a) &&
           locate(lane, destination, rank, b) && a.memory == b.memory && a.begin != b.begin &&
           std::max(a.begin, b.begin) - std::min(a.begin, b.begin) < action.count;
  };
  for (const Operand& source : action.source) {
    for (const Operand& destination : action.destination) {
      if (source.place == Place::none || destination.place == Place::none) continue;
      if (!is_every(destination.place) && overlap(source, destination, lane.rank)) return true;
      if (!is_every(destination.place)) continue;
      for (int rank = 0; rank < world_.size; ++rank)
        if (overlap(source, destination, rank)) return true;
    }
  }
  return false;
}

/// Finds `operand` in `rank`'s buffers; false where it isn't all inside.
bool Execution::locate(const Lane& lane, const Operand& operand, int rank, Spot& spot) const {
  const Layout& layout = layouts_[static_cast<std::size_t>(rank)];
  const bool output = operand.place == Place::output || operand.place == Place::every_output;
  const std::uint64_t count = output ? layout.output_count : layout.input_count;
  if (operand.offset > count || lane.action.count > count - operand.offset) return false;
  spot.memory = memory_index(rank, output);
  spot.begin = operand.offset;
  if (world_.in_place)
    spot.begin += (output ? layout.output_first : layout.input_first) -
                  std::min(layout.input_first, layout.output_first);
  return true;
}

void Execution::read_sources(Lane& lane) {
  const Operand& first = lane.action.source[0];
  if (!is_every(first.place)) {
    const std::size_t count = lane.action.verb == Verb::combine ? 2 : 1;
    operands_.resize(count);
    for (std::size_t i = 0; i < count && !failed(); ++i)
      read(lane, lane.action.source[i], operands_[i]);
    return;
  }
  operands_.resize(static_cast<std::size_t>(world_.size));
  for (int rank = 0; rank < world_.size && !failed(); ++rank) {
    Runs& out = operands_[static_cast<std::size_t>(rank)];
    if (first.place == Place::every_input || rank == lane.rank)
      read_buffer(lane, first, rank, out);
    else
      read_message(lane, first.place == Place::every_cast, rank, out);
  }
}

void Execution::read(Lane& lane, const Operand& operand, Runs& out) {
  switch (operand.place) {
    case Place::slot: return read_message(lane, false, operand.peer, out);
    case Place::cast: return read_message(lane, true, operand.peer, out);
    case Place::mapped_input: return read_buffer(lane, operand, operand.peer, out);
    case Place::scratch:
      out.clear();
      if (operand.offset > world_.piece_elements ||
          lane.action.count > world_.piece_elements - operand.offset)
        return fail(lane, "reads outside of scratch");
      return lane.scratch.read(operand.offset, lane.action.count, out);
    default: return read_buffer(lane, operand, lane.rank, out);
  }
}

void Execution::read_buffer(Lane& lane, const Operand& operand, int rank, Runs& out) {
  Spot spot;
  out.clear();
  if (!locate(lane, operand, rank, spot))
    return fail(lane, "reads outside of rank " + std::to_string(rank) + "'s buffer");
  access(lane, rank, spot, false);
  if (rank != lane.rank) traffic(lane).loaded += lane.action.count;
  memories_[spot.memory].read(spot.begin, lane.action.count, out);
}

void Execution::read_message(Lane& lane, bool is_cast, int peer, Runs& out) {
  const int from = lane_index(peer, lane.channel);
  Clock* clock = tracks_ ? &lane.clock : nullptr;
  if (is_cast) {
    links_.receive_cast(from, lane.rank, out, clock);
    wake(peer, lane.channel, {Kind::cast_credit, lane.rank});
  } else {
    links_.receive(from, lane.rank, out, clock);
    wake(peer, lane.channel, {Kind::credit, lane.rank});
  }
  std::uint64_t length = 0;
  for (const Run& run : out) length += run.count;
  if (length != lane.action.count)
    fail(lane, "expects " + std::to_string(lane.action.count) + " elements of a message of rank " +
                   std::to_string(peer) + " that has " + std::to_string(length));
}

/// Makes result_ of operands_, as far as all of them are in one run at a time.
void Execution::reduce(Lane& lane) {
  cursors_.assign(operands_.size(), {});
  result_.clear();
  for (std::uint64_t left = lane.action.count; left > 0;) {
    std::uint64_t taken = left;
    for (std::size_t i = 0; i < operands_.size(); ++i)
      taken = std::min(taken, operands_[i][cursors_[i].run].count - cursors_[i].skip);
    values_.clear();
    std::uint64_t element = 0;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      auto& [index, skip] = cursors_[i];
      const Run& run = operands_[i][index];
      if (run.value == unwritten) return fail(lane, "reads what was never written");
      if (operands_.size() > 1 && expressions_.is_closed(run.value))
        return fail(lane, "combines what is finalized already");
      if (i > 0 && run.element + skip != element)
        return fail(lane, "combines element " + std::to_string(element) + " with element " +
                              std::to_string(run.element + skip));
      element = run.element + skip;
      values_.push_back(run.value);
      skip += taken;
      if (skip == run.count) cursors_[i] = {index + 1, 0};
    }
    append(result_,
           {taken, element, values_.size() == 1 ? values_[0] : expressions_.pass(values_)});
    left -= taken;
  }
}

void Execution::finalize(Lane& lane) {
  for (Run& run : result_) {
    if (expressions_.is_closed(run.value)) return fail(lane, "finalizes twice");
    run.value = expressions_.closed(run.value);
  }
}

void Execution::write(Lane& lane, const Operand& operand) {
  switch (operand.place) {
    case Place::output: return write_buffer(lane, operand, lane.rank);
    case Place::every_output:
      for (int rank = 0; rank < world_.size && !failed(); ++rank) write_buffer(lane, operand, rank);
      return;
    case Place::slot: return send(lane, operand);
    case Place::cast: return cast(lane);
    case Place::scratch:
      if (operand.offset > world_.piece_elements - lane.action.count)
        return fail(lane, "writes outside of scratch");
      return lane.scratch.write(operand.offset, result_);
    default: return;
  }
}

void Execution::write_buffer(Lane& lane, const Operand& operand, int rank) {
  Spot spot;
  if (!locate(lane, operand, rank, spot))
    return fail(lane, "writes outside of rank " + std::to_string(rank) + "'s buffer");
  access(lane, rank, spot, true);
  if (rank != lane.rank) traffic(lane).stored += lane.action.count;
  memories_[spot.memory].write(spot.begin, result_);
}

void Execution::send(Lane& lane, const Operand& operand) {
  const std::uint64_t number = links_.send(lane_index(lane), operand.peer, result_, released(lane));
  note_behaviour(lane_index(lane), operand.peer, number, result_);
  traffic(lane).sent += lane.action.count;
  note_sending(lane, operand.peer);
  wake(operand.peer, lane.channel, {Kind::message, lane.rank});
}

void Execution::cast(Lane& lane) {
  const std::uint64_t number = links_.cast(lane_index(lane), result_, released(lane));
  note_behaviour(lane_index(lane), lane.rank, number, result_);
  traffic(lane).cast += lane.action.count;
  for (int rank = 0; rank < world_.size; ++rank) {
    if (rank == lane.rank) continue;
    note_sending(lane, rank);
    wake(rank, lane.channel, {Kind::cast_message, lane.rank});
  }
}

void Execution::note_sending(Lane& lane, int peer) {
  int& only = traffic(lane).only_peer;
  only = only == Traffic::nobody || only == peer ? peer : Traffic::several;
  const std::size_t word = lane.action.stage / 64;
  const std::uint64_t bit = std::uint64_t{1} << lane.action.stage % 64;
  if (lane.stages_sent.size() <= word) lane.stages_sent.resize(word + 1);
  if (lane.channel == 0 && (lane.stages_sent[word] & bit) == 0) ++traffic(lane).sending_stages;
  lane.stages_sent[word] |= bit;
}

/// A sum, so that it doesn't depend on the order in which ranks happen to go.
void Execution::note_behaviour(int from_lane, int to, std::uint64_t number, const Runs& runs) {
  std::uint64_t hash =
      scrambled(static_cast<std::uint64_t>(from_lane) << 32 | static_cast<std::uint32_t>(to));
  hash = scrambled(hash ^ number);
  for (const Run& run : runs) {
    hash = scrambled(hash ^ run.count);
    hash = scrambled(hash ^ run.element);
    hash = scrambled(hash ^ expressions_.hash(run.value));
  }
  report_.behaviour += hash;
}

/// What `lane` publishes with its next message or event: all that it knows. Its own later accesses
/// are of a later epoch. Null where clocks aren't kept; else valid until the next call.
const Clock* Execution::released(Lane& lane) {
  if (!tracks_) return nullptr;
  released_ = lane.clock;
  ++lane.clock[static_cast<std::size_t>(lane_index(lane))];
  return &released_;
}

void Execution::access(Lane& lane, int owner, Spot spot, bool writes) {
  if (!tracks_) {
    if (owner != lane.rank) fail(lane, "uses a peer's memory, which its row doesn't say it needs");
    return;
  }
  const int other =
      histories_[spot.memory].record(static_cast<std::uint32_t>(lane_index(lane)), lane.clock,
                                     spot.begin, lane.action.count, writes);
  if (other == AccessHistory::no_conflict) return;
  fail(lane, std::string(writes ? "writes" : "reads") + " rank " + std::to_string(owner) +
                 "'s buffer, and no event or message orders that against rank " +
                 std::to_string(other % world_.size) + "'s access to it");
}

}  // namespace gyre::schedules::checker
