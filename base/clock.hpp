// Time as the runtime counts it, and deadlines. Only the edge (drivers, the control thread,
// programs) calls monotonic_now(); everything below is handed the time, so that a simulation can
// hand another.
#pragma once

#include <time.h>

#include <cstdint>
#include <limits>

namespace gyre {

/// Nanoseconds of a clock that never goes back; the zero means nothing.
using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds nanoseconds_per_us = 1'000;
inline constexpr Nanoseconds nanoseconds_per_ms = 1'000'000;

/// CLOCK_MONOTONIC: the same for all processes of a host.
inline Nanoseconds monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// The moment at which a wait gives up.
class Deadline {
 public:
  /// One that never passes.
  constexpr Deadline() = default;
  constexpr explicit Deadline(Nanoseconds at) : at_(at) {}

  /// `timeout` from `now`, or never where the sum is past what the clock can say.
  static constexpr Deadline after(Nanoseconds now, Nanoseconds timeout) {
    if (timeout > 0 && now > never_ - timeout) return Deadline();
    return Deadline(now + timeout);
  }

  constexpr Nanoseconds at() const { return at_; }
  constexpr bool never() const { return at_ == never_; }
  constexpr bool passed(Nanoseconds now) const { return now >= at_ && !never(); }
  /// Time left, 0 once it has passed.
  constexpr Nanoseconds left(Nanoseconds now) const { return now >= at_ ? 0 : at_ - now; }

 private:
  static constexpr Nanoseconds never_ = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds at_ = never_;
};

}  // namespace gyre
