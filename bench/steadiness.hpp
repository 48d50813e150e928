// Whether the cpus are where they were. A host may move a virtual machine's cpus at any moment,
// onto two threads of one core or into two caches apart, and for as long as that lasts every figure
// is another one, by a factor of up to four. The round trip of a cache line tells.
#pragma once

#include <functional>

namespace gyre::bench {

class Steadiness {
 public:
  /// Nanoseconds of a round trip, measured now; 0 when that fails.
  using RoundTrip = std::function<double()>;
  /// Lets some milliseconds pass between two looks.
  using Pause = std::function<void()>;

  /// A round trip that is longer or shorter than the usual one by more than this factor is another
  /// placement of the cpus.
  static constexpr double factor_max = 1.4;
  /// The usual round trip is the median of so many looks.
  static constexpr int looks_to_learn = 30;

  /// Looks around for looks_to_learn pauses.
  Steadiness(RoundTrip round_trip_ns, Pause pause);

  /// One look: is the round trip the usual one?
  bool steady() const { return usual(round_trip_ns_()); }
  /// Looks until it is; when it has not been for looks_to_learn looks, what they saw is the usual
  /// one from now on.
  void settle();

  double usual_ns() const { return usual_ns_; }

 private:
  bool usual(double round_trip_ns) const;

  RoundTrip round_trip_ns_;
  Pause pause_;
  double usual_ns_ = 0;
};

}  // namespace gyre::bench
