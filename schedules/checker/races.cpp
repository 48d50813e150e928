#include "schedules/checker/races.hpp"

#include <algorithm>

namespace gyre::schedules::checker {

void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

void AccessHistory::reset(std::uint64_t count, Access first) {
  segments_.clear();
  if (count > 0) segments_.push_back({0, count, first, {}});
}

/// The index of the segment that begins at `position`, made if there is none.
std::size_t AccessHistory::cut(std::uint64_t position) {
  const auto at =
      std::lower_bound(segments_.begin(), segments_.end(), position,
                       [](const Segment& segment, std::uint64_t p) { return segment.end <= p; });
  const auto index = static_cast<std::size_t>(at - segments_.begin());
  if (at == segments_.end() || at->begin == position) return index;
  Segment right = *at;
  at->end = right.begin = position;
  segments_.insert(at + 1, std::move(right));
  return index + 1;
}

int AccessHistory::record(std::uint32_t actor, const Clock& now, std::uint64_t begin,
                          std::uint64_t count, bool writes) {
  if (count == 0) return no_conflict;
  const auto unordered = [&](const Access& earlier) {
    return earlier.actor != actor && earlier.epoch > now[earlier.actor];
  };
  const std::size_t first = cut(begin);
  const std::size_t last = cut(begin + count);
  for (std::size_t i = first; i < last; ++i) {
    Segment& segment = segments_[i];
    if (unordered(segment.write)) return static_cast<int>(segment.write.actor);
    const Access access{actor, now[actor]};
    if (writes) {
      for (const Access& read : segment.reads)
        if (unordered(read)) return static_cast<int>(read.actor);
      segment.write = access;
      segment.reads.clear();
    } else {
      std::erase_if(segment.reads, [&](const Access& read) { return read.actor == actor; });
      segment.reads.push_back(access);
    }
  }
  return no_conflict;
}

}  // namespace gyre::schedules::checker
