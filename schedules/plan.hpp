// What a schedule is a function of: everything here is shared knowledge or the rank's own place in
// it, and nothing refers to memory. Plain data, so that it can be handed to a kernel by value.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gyre::schedules {

/// A half-open run of elements, relative to the start of a user buffer.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  constexpr std::uint64_t end() const { return begin + count; }
};

struct Plan {
  int rank = 0;
  int size = 1;
  int root = 0;  ///< broadcast only

  /// Elements of the whole operation: of the input and the output (all_reduce, broadcast), of the
  /// input (reduce_scatter), of the output (all_gather). The last two are multiples of `size`.
  std::uint64_t count = 0;

  /// Most elements that one message carries; at most what a slot holds. At least 1.
  std::uint64_t piece_elements = 1;

  /// Messages that fit into a link before its receiver has consumed any. At least 1.
  int slots = 1;

  /// The rank at each position of the ring (`size` entries), or nullptr: position i holds rank i.
  const std::int32_t* ring_order = nullptr;
  int ring_position = 0;  ///< where `rank` stands in ring_order; unused without one

  /// Independent lanes over which every chunk is spread; this plan is lane `channel` of `channels`.
  int channel = 0;
  int channels = 1;
};

/// Part `index` of `parts` nearly equal parts of `whole`; the first ones are larger by one element.
constexpr Range split(Range whole, std::uint64_t parts, std::uint64_t index) {
  const std::uint64_t base = whole.count / parts;
  const std::uint64_t extra = whole.count % parts;
  const std::uint64_t shift = index < extra ? index : extra;
  return {whole.begin + index * base + shift, base + (index < extra ? 1 : 0)};
}

/// Chunk `index` of plan.size chunks: what rank `index` reduces, or contributes to a gather.
constexpr Range whole_chunk(const Plan& plan, int index) {
  return split({0, plan.count}, static_cast<std::uint64_t>(plan.size),
               static_cast<std::uint64_t>(index));
}

/// The elements of chunk `index` that this plan's channel carries.
constexpr Range chunk(const Plan& plan, int index) {
  return split(whole_chunk(plan, index), static_cast<std::uint64_t>(plan.channels),
               static_cast<std::uint64_t>(plan.channel));
}

/// All elements that this plan's channel carries where the operation is not cut into chunks.
constexpr Range lane(const Plan& plan) {
  return split({0, plan.count}, static_cast<std::uint64_t>(plan.channels),
               static_cast<std::uint64_t>(plan.channel));
}

/// Turns an offset among the whole operation's elements into one in a buffer that holds only this
/// rank's chunk (the output of reduce_scatter, the input of all_gather).
constexpr std::uint64_t in_own_chunk(const Plan& plan, std::uint64_t offset) {
  return offset - whole_chunk(plan, plan.rank).begin;
}

/// The other ranks in the order in which this one turns to them: `turn` 0 .. size-2. Each begins
/// with its neighbour, so that at no moment all turn to the same one.
constexpr int staggered_peer(const Plan& plan, std::uint32_t turn) {
  const int peer = plan.rank + 1 + static_cast<int>(turn);
  return peer < plan.size ? peer : peer - plan.size;
}

/// Where this rank stands in the ring.
constexpr int own_position(const Plan& plan) {
  return plan.ring_order ? plan.ring_position : plan.rank;
}

/// The rank at ring position `position`, taken modulo the size; may be negative.
constexpr int ring_rank(const Plan& plan, int position) {
  const int wrapped = (position % plan.size + plan.size) % plan.size;
  return plan.ring_order ? plan.ring_order[wrapped] : wrapped;
}

}  // namespace gyre::schedules
