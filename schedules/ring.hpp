// The ring: scatter-reduce in N-1 steps, then all-gather in N-1 steps; every rank sends only to the
// next one. Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69(2), 2009: 2(N-1)/N x M bytes per rank, which no algorithm undercuts.
//
// A rank at position p handles at stage s the chunk of position p-1-s: at stage 0 it sends its own
// contribution, then it receives a partial sum, adds its own and passes it on, until at stage N-1
// it holds its own chunk complete; from there complete chunks travel on. Receive and send are one
// action (the sum stays in registers). With a single slot per link that would deadlock, every rank
// waiting for the slot which its next rank can't free, so there the two are separate actions.
#pragma once

#include "schedules/action.hpp"
#include "schedules/pipeline.hpp"
#include "schedules/plan.hpp"

namespace gyre::schedules::ring {

/// Which part of the ring a collective runs: stages first..last, where `first` only sends and
/// `last` only receives.
struct Span {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr Span all_reduce_span(const Plan& plan) {
  return {0, 2 * static_cast<std::uint32_t>(plan.size) - 2};
}
constexpr Span reduce_scatter_span(const Plan& plan) {
  return {0, static_cast<std::uint32_t>(plan.size) - 1};
}
constexpr Span all_gather_span(const Plan& plan) {
  return {static_cast<std::uint32_t>(plan.size) - 1, 2 * static_cast<std::uint32_t>(plan.size) - 2};
}

constexpr bool fused(const Plan& plan) { return plan.slots > 1; }

constexpr std::uint32_t actions_per_piece(const Plan& plan, Span span) {
  const std::uint32_t hops = span.last - span.first;
  return fused(plan) ? hops + 1 : 2 * hops;
}

constexpr std::uint64_t steps(const Plan& plan, Span span) {
  return piece_count(plan, chunk(plan, 0).count) * actions_per_piece(plan, span);
}

constexpr Action action(const Plan& plan, std::uint64_t step, Span span) {
  const bool scatters = span.first == 0;
  const bool gathers = span.last >= static_cast<std::uint32_t>(plan.size);
  const std::uint32_t complete = static_cast<std::uint32_t>(plan.size) - 1;
  const Turn turn =
      turn_at(plan, step, piece_count(plan, chunk(plan, 0).count), actions_per_piece(plan, span));
  const std::uint32_t hop = fused(plan) ? turn.action : (turn.action + 1) / 2;
  const std::uint32_t stage = span.first + hop;
  const bool only_receives = !fused(plan) && turn.action % 2 == 1;
  const bool only_sends = !fused(plan) && turn.action % 2 == 0;
  const bool receives = stage > span.first && !only_sends;
  const bool sends = stage < span.last && !only_receives;

  const int owner = ring_rank(plan, own_position(plan) - 1 - static_cast<int>(stage));
  const Range piece = piece_of(plan, chunk(plan, owner), turn.piece);
  const Operand input{Place::input, -1, scatters ? piece.begin : in_own_chunk(plan, piece.begin)};
  const Operand output{Place::output, -1, gathers ? piece.begin : in_own_chunk(plan, piece.begin)};
  const Operand from_previous{Place::slot, ring_rank(plan, own_position(plan) - 1), 0};
  const Operand to_next{Place::slot, ring_rank(plan, own_position(plan) + 1), 0};
  const Operand scratch{Place::scratch, -1, 0};

  Action result;
  result.stage = stage;
  result.count = piece.count;
  result.verb = Verb::copy;
  int destinations = 0;
  if (sends) result.destination[destinations++] = to_next;

  if (stage == span.first) {  // what this rank contributes sets out
    result.source[0] = input;
    if (!scatters) result.destination[destinations++] = output;
  } else if (stage > complete) {  // a complete chunk passes through
    result.source[0] = only_sends ? output : from_previous;
    if (receives) result.destination[destinations++] = output;
  } else if (only_receives && stage < span.last) {  // a partial sum, taken out of the only slot
    result.source[0] = from_previous;
    result.destination[destinations++] = scratch;
  } else {  // a partial sum grows by this rank's contribution
    result.verb = Verb::combine;
    result.source[0] = receives ? from_previous : scratch;
    result.source[1] = input;
    if (stage == complete) {
      result.destination[destinations++] = output;
      result.finalize = true;
    }
  }
  return result;
}

}  // namespace gyre::schedules::ring
