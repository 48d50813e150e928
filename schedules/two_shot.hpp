// Two-shot, or direct exchange: every rank hands chunk j of its input straight to rank j, which
// reduces it in rank order; then everybody fetches the N results. Two exchanges, the ring's bytes,
// and no partial sum ever leaves a rank.
//
// Scatter goes over the pairwise links, the result over the owner's cast link, which is stored once
// and read by all. Reducing and casting are one action even with a single slot: the two use
// different links, and in one batch of pieces no link is given more messages than it has slots, so
// a rank that has finished the previous batch never waits for one that hasn't begun this one.
#pragma once

#include "schedules/action.hpp"
#include "schedules/pipeline.hpp"
#include "schedules/plan.hpp"

namespace gyre::schedules::two_shot {

constexpr std::uint32_t peers(const Plan& plan) {
  return static_cast<std::uint32_t>(plan.size) - 1;
}

/// Pieces of the largest chunk; the others have as many, of which the last may be empty.
constexpr std::uint64_t pieces(const Plan& plan) { return piece_count(plan, chunk(plan, 0).count); }

/// This rank's input for `peer`'s chunk sets out to its owner.
constexpr Action scatter(const Plan& plan, std::uint64_t index, int peer) {
  const Range piece = piece_of(plan, chunk(plan, peer), index);
  Action result;
  result.verb = Verb::copy;
  result.count = piece.count;
  result.source[0] = {Place::input, -1, piece.begin};
  result.destination[0] = {Place::slot, peer, 0};
  return result;
}

/// The chunk that `peer` owns, complete, is fetched.
constexpr Action gather(const Plan& plan, std::uint64_t index, int peer) {
  const Range piece = piece_of(plan, chunk(plan, peer), index);
  Action result;
  result.verb = Verb::copy;
  result.count = piece.count;
  result.source[0] = {Place::cast, peer, 0};
  result.destination[0] = {Place::output, -1, piece.begin};
  return result;
}

/// Everybody's contribution to the own chunk becomes the result.
constexpr Action reduce(Range piece) {
  Action result;
  result.verb = Verb::combine;
  result.finalize = true;
  result.count = piece.count;
  result.source[0] = {Place::every_slot, -1, piece.begin};
  return result;
}

// ---- all_reduce: N-1 to scatter, one to reduce, N-1 to gather ----

constexpr std::uint64_t all_reduce_steps(const Plan& plan) {
  return pieces(plan) * (2 * peers(plan) + 1);
}

constexpr Action all_reduce_action(const Plan& plan, std::uint64_t step) {
  const Turn turn = turn_at(plan, step, pieces(plan), 2 * peers(plan) + 1);
  Action result;
  if (turn.action < peers(plan)) {
    result = scatter(plan, turn.piece, staggered_peer(plan, turn.action));
  } else if (turn.action == peers(plan)) {
    const Range piece = piece_of(plan, chunk(plan, plan.rank), turn.piece);
    result = reduce(piece);
    result.destination[0] = {Place::output, -1, piece.begin};
    result.destination[1] = {Place::cast, -1, 0};
  } else {
    result = gather(plan, turn.piece, staggered_peer(plan, turn.action - peers(plan) - 1));
  }
  result.stage = turn.action;
  return result;
}

// ---- reduce_scatter: its first half ----

constexpr std::uint64_t reduce_scatter_steps(const Plan& plan) {
  return pieces(plan) * (peers(plan) + 1);
}

constexpr Action reduce_scatter_action(const Plan& plan, std::uint64_t step) {
  const Turn turn = turn_at(plan, step, pieces(plan), peers(plan) + 1);
  Action result;
  if (turn.action < peers(plan)) {
    result = scatter(plan, turn.piece, staggered_peer(plan, turn.action));
  } else {
    const Range piece = piece_of(plan, chunk(plan, plan.rank), turn.piece);
    result = reduce(piece);
    result.destination[0] = {Place::output, -1, in_own_chunk(plan, piece.begin)};
  }
  result.stage = turn.action;
  return result;
}

// ---- broadcast: the root deals out the chunks, each owner casts its own, everybody gathers ----
//
// The root gathers too, although it knows what it gets: a cast slot is free again only when every
// peer has read it.

/// Actions before a rank casts: the root deals out N-1 chunks.
constexpr std::uint32_t deals(const Plan& plan) { return plan.rank == plan.root ? peers(plan) : 0; }

constexpr std::uint64_t broadcast_steps(const Plan& plan) {
  return pieces(plan) * (deals(plan) + 1 + peers(plan));
}

constexpr Action broadcast_action(const Plan& plan, std::uint64_t step) {
  const std::uint32_t dealt = deals(plan);
  const Turn turn = turn_at(plan, step, pieces(plan), dealt + 1 + peers(plan));
  Action result;
  if (turn.action < dealt) {
    result = scatter(plan, turn.piece, staggered_peer(plan, turn.action));
    result.stage = turn.action;
  } else if (turn.action == dealt) {
    const Range piece = piece_of(plan, chunk(plan, plan.rank), turn.piece);
    result.verb = Verb::copy;
    result.count = piece.count;
    result.source[0] = plan.rank == plan.root ? Operand{Place::input, -1, piece.begin}
                                              : Operand{Place::slot, plan.root, 0};
    result.destination[0] = {Place::output, -1, piece.begin};
    result.destination[1] = {Place::cast, -1, 0};
    result.stage = peers(plan);
  } else {
    const std::uint32_t fetched = turn.action - dealt - 1;
    result = gather(plan, turn.piece, staggered_peer(plan, fetched));
    result.stage = peers(plan) + 1 + fetched;
  }
  return result;
}

}  // namespace gyre::schedules::two_shot
