// Recursive halving, then doubling: log2(N) exchanges in which a rank gives half of what it holds
// and reduces the other half, and as many in which the complete parts double. The ring's bytes in
// far fewer steps. Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19(1), 2005; here the nearest partner comes first.
//
// With P = 2^k ranks, the one with index c meets c ^ 1, then c ^ 2, and so on. After exchange t a
// rank holds the sum of 2^(t+1) neighbouring ranks; the lower side is always the first operand, so
// where N is a power of two every element is reduced by the same binary tree over the ranks.
// Other N: P is the largest power of two below N, and each of the first N-P pairs of neighbours
// is one: its odd rank hands everything to the even one at first and gets the result at last.
//
// A piece stays in the output buffer between actions. The last reduction and the first doubling
// meet the same partner, so they are one action, except with a single slot per link: there both
// partners would wait for the slot that the other can't free.
//
// Only all_reduce: which chunk a rank ends up with is the bit-reversed one, so reduce_scatter and
// all_gather would need another exchange, or chunks out of order; ring and two-shot do them better.
#pragma once

#include "schedules/action.hpp"
#include "schedules/pipeline.hpp"
#include "schedules/plan.hpp"

namespace gyre::schedules::halving_doubling {

/// What the shape of the exchange is to one rank.
struct Position {
  std::uint32_t exchanges = 0;  ///< k
  int pairs = 0;                ///< N - P: so many pairs of neighbours act as one
  bool paired = false;          ///< this rank is in one of them
  bool folded = false;          ///< and is its odd rank, which takes no part in between
  int index = 0;                ///< c; of no meaning where folded
};

constexpr Position position_of(const Plan& plan) {
  Position position;
  while ((2 << position.exchanges) <= plan.size) ++position.exchanges;
  position.pairs = plan.size - (1 << position.exchanges);
  position.paired = plan.rank < 2 * position.pairs;
  position.folded = position.paired && plan.rank % 2 == 1;
  position.index = position.paired ? plan.rank / 2 : plan.rank - position.pairs;
  return position;
}

constexpr int rank_of(const Position& position, int index) {
  return index < position.pairs ? 2 * index : index + position.pairs;
}

constexpr bool fused(const Plan& plan) { return plan.slots > 1; }

/// How pieces are cut. Where no ranks are paired the largest message is only half a piece.
constexpr Plan cut(const Plan& plan, const Position& position) {
  Plan result = plan;
  if (position.pairs == 0) result.piece_elements *= 2;
  return result;
}

constexpr std::uint32_t actions_per_piece(const Plan& plan, const Position& position) {
  if (position.folded) return 2;
  return 4 * position.exchanges - (fused(plan) ? 1 : 0) + (position.paired ? 2 : 0);
}

constexpr std::uint64_t steps(const Plan& plan) {
  const Position position = position_of(plan);
  return piece_count(cut(plan, position), lane(plan).count) * actions_per_piece(plan, position);
}

/// What this rank holds of `piece` after `exchanges` halvings.
constexpr Range held(const Position& position, Range piece, std::uint32_t exchanges) {
  for (std::uint32_t t = 0; t < exchanges; ++t)
    piece = split(piece, 2, static_cast<std::uint64_t>(position.index >> t & 1));
  return piece;
}

/// The half of what this rank holds before exchange `t` that its partner keeps.
constexpr Range given(const Position& position, Range piece, std::uint32_t t) {
  return split(held(position, piece, t), 2, static_cast<std::uint64_t>(~position.index >> t & 1));
}

constexpr Action move(Range range, Operand source, Operand destination) {
  Action result;
  result.verb = Verb::copy;
  result.count = range.count;
  result.source[0] = source;
  result.destination[0] = destination;
  return result;
}

constexpr Action reduce(Range range, Operand lower, Operand upper) {
  Action result;
  result.verb = Verb::combine;
  result.count = range.count;
  result.source[0] = lower;
  result.source[1] = upper;
  result.destination[0] = {Place::output, -1, range.begin};
  return result;
}

/// A rank of a pair, before and after the exchanges: hands everything over, or gets everything.
constexpr Action paired_action(const Plan& plan, const Position& position, Range piece,
                               bool before) {
  const int partner = position.folded ? plan.rank - 1 : plan.rank + 1;
  const Operand link{Place::slot, partner, 0};
  const Operand input{Place::input, -1, piece.begin};
  const Operand output{Place::output, -1, piece.begin};
  Action result = before
                      ? (position.folded ? move(piece, input, link) : reduce(piece, input, link))
                      : (position.folded ? move(piece, link, output) : move(piece, output, link));
  result.stage = before ? 0 : 2 * position.exchanges + 1;
  return result;
}

/// Action `index` of the first 2k: gives half away, or reduces the half that is kept.
constexpr Action halving_action(const Plan& plan, const Position& position, Range piece,
                                std::uint32_t index) {
  const std::uint32_t t = index / 2;
  const Operand link{Place::slot, rank_of(position, position.index ^ (1 << t)), 0};
  const Place mine = t == 0 && !position.paired ? Place::input : Place::output;
  Action result;
  if (index % 2 == 0) {
    const Range range = given(position, piece, t);
    result = move(range, {mine, -1, range.begin}, link);
  } else {
    const Range range = held(position, piece, t + 1);
    const Operand own{mine, -1, range.begin};
    const bool is_lower = (position.index >> t & 1) == 0;
    result = is_lower ? reduce(range, own, link) : reduce(range, link, own);
    result.finalize = t + 1 == position.exchanges;
    if (result.finalize && fused(plan)) result.destination[1] = link;
  }
  result.stage = 1 + t;
  return result;
}

/// Action `index` of the last 2k: sends what is complete, or gets what the partner has complete.
constexpr Action doubling_action(const Position& position, Range piece, std::uint32_t index) {
  const std::uint32_t t = position.exchanges - 1 - index / 2;
  const Operand link{Place::slot, rank_of(position, position.index ^ (1 << t)), 0};
  const bool sends = index % 2 == 0;
  const Range range = sends ? held(position, piece, t + 1) : given(position, piece, t);
  const Operand output{Place::output, -1, range.begin};
  Action result = sends ? move(range, output, link) : move(range, link, output);
  result.stage = 1 + position.exchanges + index / 2;
  return result;
}

constexpr Action action(const Plan& plan, std::uint64_t step) {
  const Position position = position_of(plan);
  const Plan pieces = cut(plan, position);
  const Range whole = lane(plan);
  const std::uint32_t actions = actions_per_piece(plan, position);
  const Turn turn = turn_at(pieces, step, piece_count(pieces, whole.count), actions);
  const Range piece = piece_of(pieces, whole, turn.piece);

  const bool first = turn.action == 0;
  if (position.paired && (first || turn.action + 1 == actions))
    return paired_action(plan, position, piece, first);
  const std::uint32_t index = turn.action - (position.paired ? 1 : 0);
  if (index < 2 * position.exchanges) return halving_action(plan, position, piece, index);
  return doubling_action(position, piece, index - 2 * position.exchanges + (fused(plan) ? 1 : 0));
}

}  // namespace gyre::schedules::halving_doubling
