// Who touched which elements of a buffer last, and whether the next access is ordered after it.
// Vector clocks as in Mattern, "Virtual time and global states of distributed systems", 1989; a
// buffer keeps per run of elements its last write and the reads since, as race detectors do.
//
// An actor is one lane (a rank's channel). Its clock counts, per actor, how many of that actor's
// releases it has seen; an access carries the actor's own count.
#pragma once

#include <cstdint>
#include <vector>

namespace gyre::schedules::checker {

using Clock = std::vector<std::uint32_t>;

/// Makes `clock` know what `other` knows.
void join(Clock& clock, const Clock& other);

struct Access {
  std::uint32_t actor = 0;
  std::uint32_t epoch = 0;
};

class AccessHistory {
 public:
  static constexpr int no_conflict = -1;

  /// All of it last written by `first`.
  void reset(std::uint64_t count, Access first);

  /// `actor`, whose clock is `now`, reads or writes. Returns the actor of an earlier access that
  /// conflicts with this one and isn't ordered before it.
  int record(std::uint32_t actor, const Clock& now, std::uint64_t begin, std::uint64_t count,
             bool writes);

 private:
  struct Segment {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Access write;
    std::vector<Access> reads;
  };
  std::size_t cut(std::uint64_t position);

  std::vector<Segment> segments_;
};

}  // namespace gyre::schedules::checker
