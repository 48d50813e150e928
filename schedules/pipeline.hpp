// The order in which a schedule's pieces take its actions. A piece alone would leave links idle
// while it waits; so `depth` pieces go through each action together, then the next batch does.
// Closed form, so that any step can be asked for without those before it.
#pragma once

#include <cstdint>

#include "schedules/plan.hpp"

namespace gyre::schedules {

struct Turn {
  std::uint64_t piece = 0;
  std::uint32_t action = 0;  ///< 0 .. actions per piece - 1
};

/// Pieces that one range of `count` elements is cut into; 0 for an empty range.
constexpr std::uint64_t piece_count(const Plan& plan, std::uint64_t count) {
  return count == 0 ? 0 : (count - 1) / plan.piece_elements + 1;
}

/// Piece `index` of `whole`; empty past the end.
constexpr Range piece_of(const Plan& plan, Range whole, std::uint64_t index) {
  if (index >= piece_count(plan, whole.count)) return {whole.end(), 0};
  const std::uint64_t skip = index * plan.piece_elements;
  const std::uint64_t left = whole.count - skip;
  return {whole.begin + skip, left < plan.piece_elements ? left : plan.piece_elements};
}

/// Pieces in flight together: half the slots, so that a neighbour may be a batch behind.
constexpr std::uint64_t depth_of(const Plan& plan) {
  return plan.slots >= 4 ? static_cast<std::uint64_t>(plan.slots) / 2 : 1;
}

/// Which piece takes which action at `step`, 0 <= step < pieces * actions.
constexpr Turn turn_at(const Plan& plan, std::uint64_t step, std::uint64_t pieces,
                       std::uint32_t actions) {
  const std::uint64_t depth = depth_of(plan);
  const std::uint64_t batch = step / (depth * actions);
  const std::uint64_t within = step % (depth * actions);
  const std::uint64_t first = batch * depth;
  const std::uint64_t width = pieces - first < depth ? pieces - first : depth;
  return {first + within % width, static_cast<std::uint32_t>(within / width)};
}

}  // namespace gyre::schedules
