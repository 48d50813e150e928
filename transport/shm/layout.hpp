// Where everything lies in a shared segment: a pure function of the number of ranks and the shape
// of the slots. Every rank computes it for itself; nothing of it is ever taken from the segment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "transport/link.hpp"
#include "transport/shm/announcements.hpp"
#include "transport/shm/counter.hpp"
#include "transport/shm/doorbells.hpp"
#include "transport/shm/failure_record.hpp"

namespace gyre::transport::shm {

inline constexpr int slots_max = 1024;
inline constexpr std::size_t slot_bytes_max = std::size_t{16} << 20;
inline constexpr std::size_t segment_bytes_max = std::size_t{64} << 30;
/// Files are a multiple of this, so that large pages cover all of them. Only what is touched costs
/// memory.
inline constexpr std::size_t segment_granule_bytes = std::size_t{2} << 20;

/// What a rank's slots take in total, all links used, under default_shape() up to 64 ranks; 4 MiB
/// at ranks_per_host_max. Also what of the caches they take from the buffers.
inline constexpr std::size_t slots_per_rank_bytes = std::size_t{1} << 20;

/// First words of a segment; written once by its creator, compared by everyone who attaches.
struct SegmentHeader {
  static constexpr std::uint64_t magic_value = 0x656d656d65727967;  // "gyrememe" in memory order
  static constexpr std::uint64_t version_value = 1;

  std::uint64_t magic = magic_value;
  std::uint64_t version = version_value;
  std::uint64_t ranks = 0;
  std::uint64_t slots = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t cast_slots = 0;
  std::uint64_t cast_slot_bytes = 0;
  std::uint64_t fence_mode = 0;
  bool operator==(const SegmentHeader&) const = default;
};
static_assert(sizeof(SegmentHeader) == cache_line_bytes);

/// Offsets in bytes from the segment's start. Arrays are indexed as their comments say.
struct SegmentLayout {
  int ranks = 0;
  SlotShape pair;  ///< of the link between two ranks
  SlotShape cast;  ///< of the link from one rank to all others

  std::size_t sleepers = 0;
  std::size_t failure = 0;
  std::size_t details = 0;         ///< [rank]
  std::size_t bells = 0;           ///< [rank]
  std::size_t left = 0;            ///< [rank]
  std::size_t departed = 0;        ///< [rank]
  std::size_t notes = 0;           ///< [rank]
  std::size_t rings = 0;           ///< [rank][line]
  std::size_t published = 0;       ///< [receiver][sender]
  std::size_t consumed = 0;        ///< [sender][receiver]
  std::size_t cast_published = 0;  ///< [sender]
  std::size_t cast_consumed = 0;   ///< [sender][receiver]
  std::size_t control_bytes = 0;   ///< all of the above, which is where the slots begin
  std::size_t pair_slots = 0;      ///< [receiver][sender][slot]
  std::size_t cast_slots = 0;      ///< [sender][slot]
  std::size_t total_bytes = 0;     ///< a multiple of segment_granule_bytes

  /// invalid_argument says which bound was broken: 1 <= ranks <= ranks_per_host_max, 1 <= slots <=
  /// slots_max, slot bytes a positive multiple of the cache line up to slot_bytes_max, a cast link
  /// no smaller than a pair's, the total up to segment_bytes_max.
  static Result<SegmentLayout> make(int ranks, SlotShape pair, SlotShape cast);

  std::size_t pair_index(int first, int second) const {
    return static_cast<std::size_t>(first) * static_cast<std::size_t>(ranks) +
           static_cast<std::size_t>(second);
  }
  std::size_t pair_slots_of(int receiver, int sender) const {
    return pair_slots + pair_index(receiver, sender) * bytes_of(pair);
  }
  std::size_t cast_slots_of(int sender) const {
    return cast_slots + static_cast<std::size_t>(sender) * bytes_of(cast);
  }
  static std::size_t bytes_of(const SlotShape& shape) {
    return static_cast<std::size_t>(shape.slots) * shape.slot_bytes;
  }
};

/// 8 slots of 64 KiB, or smaller ones where so many ranks share a host that a rank's slots would
/// exceed slots_per_rank_bytes. For 1 <= ranks <= ranks_per_host_max.
SlotShape default_shape(int ranks);

}  // namespace gyre::transport::shm
