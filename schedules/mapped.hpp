// Two-shot on mapped buffers, in one pass: each rank loads its chunk from all N inputs and stores
// the result into all N outputs. Nothing is copied in between, which no other way undercuts: every
// input element is loaded once and every output element stored once.
//
// Only its owner touches a chunk, in inputs and outputs alike, so buffers may be in place, and all
// that ranks must agree on is the beginning (everybody has entered) and the end (everybody has
// left). Pieces need no order among ranks; they only bound what one action does.
#pragma once

#include "schedules/action.hpp"
#include "schedules/pipeline.hpp"
#include "schedules/plan.hpp"

namespace gyre::schedules::mapped {

/// Actions that move this rank's chunk. An empty chunk still takes one, to enter and to leave,
/// because the peers use this rank's buffers all the same.
constexpr std::uint64_t passes(const Plan& plan) {
  const std::uint64_t pieces = piece_count(plan, chunk(plan, plan.rank).count);
  return pieces > 0 ? pieces : 1;
}

/// The passes, and one step that waits until all have left.
constexpr std::uint64_t steps(const Plan& plan) { return plan.count == 0 ? 0 : passes(plan) + 1; }

/// The events of step `step`, with `pass` as its data where there is any.
constexpr Action framed(const Plan& plan, std::uint64_t step, const Action& pass) {
  Action result;
  if (pass.count > 0) result = pass;
  result.stage = step < passes(plan) ? 0 : 1;
  if (step == 0) result.wait = Event::entered;
  if (step + 1 == passes(plan)) result.signal = Event::left;
  if (step == passes(plan)) result.wait = Event::left;
  return result;
}

/// The elements of the own chunk that step `step` moves; none in the closing step.
constexpr Range piece_at(const Plan& plan, std::uint64_t step) {
  return piece_of(plan, chunk(plan, plan.rank), step);
}

constexpr Action all_reduce_action(const Plan& plan, std::uint64_t step) {
  const Range piece = piece_at(plan, step);
  Action pass;
  pass.verb = Verb::combine;
  pass.finalize = true;
  pass.count = piece.count;
  pass.source[0] = {Place::every_input, -1, piece.begin};
  pass.destination[0] = {Place::every_output, -1, piece.begin};
  return framed(plan, step, pass);
}

constexpr Action reduce_scatter_action(const Plan& plan, std::uint64_t step) {
  const Range piece = piece_at(plan, step);
  Action pass;
  pass.verb = Verb::combine;
  pass.finalize = true;
  pass.count = piece.count;
  pass.source[0] = {Place::every_input, -1, piece.begin};
  pass.destination[0] = {Place::output, -1, in_own_chunk(plan, piece.begin)};
  return framed(plan, step, pass);
}

constexpr Action all_gather_action(const Plan& plan, std::uint64_t step) {
  const Range piece = piece_at(plan, step);
  Action pass;
  pass.verb = Verb::copy;
  pass.count = piece.count;
  pass.source[0] = {Place::input, -1, in_own_chunk(plan, piece.begin)};
  pass.destination[0] = {Place::every_output, -1, piece.begin};
  return framed(plan, step, pass);
}

constexpr Action broadcast_action(const Plan& plan, std::uint64_t step) {
  const Range piece = piece_at(plan, step);
  Action pass;
  pass.verb = Verb::copy;
  pass.count = piece.count;
  pass.source[0] = plan.rank == plan.root ? Operand{Place::input, -1, piece.begin}
                                          : Operand{Place::mapped_input, plan.root, piece.begin};
  pass.destination[0] = {Place::every_output, -1, piece.begin};
  return framed(plan, step, pass);
}

}  // namespace gyre::schedules::mapped
