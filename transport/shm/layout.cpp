#include "transport/shm/layout.hpp"

#include <fmt/format.h>

#include <string>

namespace gyre::transport::shm {
namespace {

constexpr std::size_t page_bytes = 4096;
/// Smaller ones would make messages of little else than their own cost.
constexpr std::size_t slot_bytes_least = std::size_t{2} << 10;
constexpr std::size_t slot_bytes_default = std::size_t{64} << 10;
constexpr int slots_default = 8;

/// Hands out consecutive ranges and remembers whether any sum or product was too large.
class Cursor {
 public:
  std::size_t take(std::size_t count, std::size_t bytes, std::size_t alignment) {
    std::size_t size = 0;
    std::size_t start = 0;
    overflow_ |= __builtin_mul_overflow(count, bytes, &size);
    overflow_ |= __builtin_add_overflow(end_, alignment - 1, &start);
    start -= start % alignment;
    overflow_ |= __builtin_add_overflow(start, size, &end_);
    return start;
  }
  std::size_t end() const { return end_; }
  bool overflow() const { return overflow_; }

 private:
  std::size_t end_ = 0;
  bool overflow_ = false;
};

Status check_shape(const char* which, const SlotShape& shape) {
  if (shape.slots < 1 || shape.slots > slots_max)
    return {Code::invalid_argument,
            fmt::format("{} links of {} slots; use 1 to {}", which, shape.slots, slots_max)};
  if (shape.slot_bytes == 0 || shape.slot_bytes > slot_bytes_max ||
      shape.slot_bytes % cache_line_bytes != 0)
    return {Code::invalid_argument,
            fmt::format("{} links with slots of {} bytes; use a multiple of {} up to {}", which,
                        shape.slot_bytes, cache_line_bytes, slot_bytes_max)};
  return {};
}

}  // namespace

Result<SegmentLayout> SegmentLayout::make(int ranks, SlotShape pair, SlotShape cast) {
  if (ranks < 1 || ranks > ranks_per_host_max)
    return Status(Code::invalid_argument,
                  fmt::format("{} ranks on one host; shared memory serves 1 to {}", ranks,
                              ranks_per_host_max));
  if (Status status = check_shape("pair", pair); !status) return status;
  if (Status status = check_shape("cast", cast); !status) return status;
  if (cast.slots < pair.slots || cast.slot_bytes < pair.slot_bytes)
    return Status(Code::invalid_argument,
                  "a cast link has fewer or smaller slots than a pair link; algorithms plan both "
                  "with the pair's shape");

  SegmentLayout layout;
  layout.ranks = ranks;
  layout.pair = pair;
  layout.cast = cast;
  const auto n = static_cast<std::size_t>(ranks);
  constexpr std::size_t line = cache_line_bytes;
  Cursor cursor;
  cursor.take(1, sizeof(SegmentHeader), line);
  layout.sleepers = cursor.take(1, sizeof(Sleepers<HostMemory>), line);
  layout.failure = cursor.take(1, sizeof(FailureWord<HostMemory>), line);
  layout.details = cursor.take(n, sizeof(FailureDetails<HostMemory>), line);
  layout.bells = cursor.take(n, sizeof(Bell<HostMemory>), line);
  layout.left = cursor.take(n, sizeof(Counter<HostMemory>), line);
  layout.departed = cursor.take(n, sizeof(Counter<HostMemory>), line);
  layout.notes = cursor.take(n, sizeof(Note<HostMemory>), line);
  layout.rings = cursor.take(n, sizeof(Announcements<HostMemory>::Ring), line);
  layout.published = cursor.take(n * n, sizeof(Counter<HostMemory>), line);
  layout.consumed = cursor.take(n * n, sizeof(Counter<HostMemory>), line);
  layout.cast_published = cursor.take(n, sizeof(Counter<HostMemory>), line);
  layout.cast_consumed = cursor.take(n * n, sizeof(Counter<HostMemory>), line);
  layout.control_bytes = cursor.end();
  layout.pair_slots = cursor.take(n * n, bytes_of(pair), page_bytes);
  layout.cast_slots = cursor.take(n, bytes_of(cast), page_bytes);
  cursor.take(0, 1, segment_granule_bytes);
  layout.total_bytes = cursor.end();
  if (cursor.overflow() || layout.total_bytes > segment_bytes_max)
    return Status(Code::invalid_argument,
                  fmt::format("{} ranks with {} slots of {} bytes need more than {} GiB of shared "
                              "memory; use smaller or fewer slots",
                              ranks, pair.slots, pair.slot_bytes, segment_bytes_max >> 30));
  return layout;
}

SlotShape default_shape(int ranks) {
  SlotShape shape{slot_bytes_default, slots_default};
  while (static_cast<std::size_t>(ranks) * SegmentLayout::bytes_of(shape) > slots_per_rank_bytes &&
         shape.slot_bytes > slot_bytes_least)
    shape.slot_bytes /= 2;
  return shape;
}

}  // namespace gyre::transport::shm
