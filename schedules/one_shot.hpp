// One-shot: every rank shows its whole input to all others at once, and each makes the whole result
// by itself. One exchange, so the shortest time for small operations; N-1 times the input is read.
//
// The cast link carries it: the sender stores a piece once, all peers read the same slot. Between
// two pieces nothing is kept, and a piece's messages are all stored before any is waited for: with
// one slot per link that already can't deadlock.
#pragma once

#include "schedules/action.hpp"
#include "schedules/pipeline.hpp"
#include "schedules/plan.hpp"

namespace gyre::schedules::one_shot {

// ---- all_reduce: store a piece of the input, combine everybody's ----

constexpr std::uint64_t all_reduce_steps(const Plan& plan) {
  return 2 * piece_count(plan, lane(plan).count);
}

constexpr Action all_reduce_action(const Plan& plan, std::uint64_t step) {
  const Range whole = lane(plan);
  const Turn turn = turn_at(plan, step, piece_count(plan, whole.count), 2);
  const Range piece = piece_of(plan, whole, turn.piece);
  Action result;
  result.stage = turn.action;
  result.count = piece.count;
  if (turn.action == 0) {
    result.verb = Verb::copy;
    result.source[0] = {Place::input, -1, piece.begin};
    result.destination[0] = {Place::cast, -1, 0};
  } else {
    result.verb = Verb::combine;
    result.source[0] = {Place::every_cast, -1, piece.begin};
    result.destination[0] = {Place::output, -1, piece.begin};
    result.finalize = true;
  }
  return result;
}

// ---- all_gather: store a piece of the own chunk, fetch every peer's ----

constexpr std::uint64_t all_gather_steps(const Plan& plan) {
  return piece_count(plan, chunk(plan, 0).count) * static_cast<std::uint32_t>(plan.size);
}

constexpr Action all_gather_action(const Plan& plan, std::uint64_t step) {
  const Turn turn = turn_at(plan, step, piece_count(plan, chunk(plan, 0).count),
                            static_cast<std::uint32_t>(plan.size));
  const bool shows = turn.action == 0;
  const int owner = shows ? plan.rank : staggered_peer(plan, turn.action - 1);
  const Range piece = piece_of(plan, chunk(plan, owner), turn.piece);
  Action result;
  result.verb = Verb::copy;
  result.stage = turn.action;
  result.count = piece.count;
  result.destination[0] = {Place::output, -1, piece.begin};
  if (shows) {
    result.source[0] = {Place::input, -1, in_own_chunk(plan, piece.begin)};
    result.destination[1] = {Place::cast, -1, 0};
  } else {
    result.source[0] = {Place::cast, owner, 0};
  }
  return result;
}

// ---- broadcast: the root stores a piece, everybody else fetches it ----

constexpr std::uint64_t broadcast_steps(const Plan& plan) {
  return piece_count(plan, lane(plan).count);
}

constexpr Action broadcast_action(const Plan& plan, std::uint64_t step) {
  const Range piece = piece_of(plan, lane(plan), step);
  Action result;
  result.verb = Verb::copy;
  result.count = piece.count;
  result.destination[0] = {Place::output, -1, piece.begin};
  if (plan.rank == plan.root) {
    result.source[0] = {Place::input, -1, piece.begin};
    result.destination[1] = {Place::cast, -1, 0};
  } else {
    result.source[0] = {Place::cast, plan.root, 0};
  }
  return result;
}

// ---- barrier: nothing moves; that everybody has entered is all there is to know ----

constexpr std::uint64_t barrier_steps(const Plan&) { return 1; }

constexpr Action barrier_action(const Plan&, std::uint64_t) {
  Action result;
  result.wait = Event::entered;
  return result;
}

}  // namespace gyre::schedules::one_shot
