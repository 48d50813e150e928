// What all parts of a simulated network share: the virtual time, the random source, the queue of
// what will happen, and which ranks are alive. Everything is in one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "transport/link.hpp"
#include "transport/sim/coverage.hpp"
#include "transport/sim/events.hpp"
#include "transport/sim/profile.hpp"

namespace gyre::transport {

struct SimOptions {
  int ranks = 2;
  LinkKind kind = LinkKind::memory;
  SlotShape shape{256, 4};
  bool maps_memory = true;
  std::uint64_t seed = 1;
  SimProfile profile;
};

/// What a rank does that others can notice. Numbers go into the trace.
enum class SimAct : std::uint8_t {
  step,
  publish,
  post,
  release,
  place,
  announce,
  leave,
  map,
  abort,
};

struct SimRank {
  std::uint64_t actions = 0;
  bool dead = false;
  Nanoseconds stopped_until = 0;  ///< SimPause::forever: for good
  bool saw_failure = false;
  Nanoseconds clock_offset = 0;
  std::uint64_t handed_over = 0;  ///< messages, over all its links
  std::uint64_t newest_seen = 0;  ///< of those, the newest that any reader has seen
  int spurious_wakes = 0;         ///< so far
  bool rung = false;              ///< something has changed for it since it last ran
  bool asleep = false;            ///< between prepare_sleep and the end of sleep
  bool bell = false;              ///< rung while asleep
  Nanoseconds sleeps_until = 0;   ///< set by sleep; 0: not sleeping
  std::uint64_t noted = 0;        ///< Endpoint::note; seen by everybody at once
};

class SimCore {
 public:
  static constexpr std::size_t violations_max = 16;

  explicit SimCore(const SimOptions& options);

  const SimOptions& options() const { return options_; }
  const SimProfile& profile() const { return options_.profile; }
  bool carries_messages() const { return options_.kind == LinkKind::message; }
  int ranks() const { return options_.ranks; }
  SimRank& rank(int index) { return ranks_[static_cast<std::size_t>(index)]; }
  const SimRank& rank(int index) const { return ranks_[static_cast<std::size_t>(index)]; }
  bool stopped(int index) const { return rank(index).stopped_until > now_; }
  bool chance(int percent) {
    return percent > 0 && random_.chance(static_cast<std::uint64_t>(percent), 100);
  }
  Random& random() { return random_; }
  Nanoseconds now() const { return now_; }
  void set_now(Nanoseconds now) { now_ = now; }
  SimEventQueue& queue() { return queue_; }
  const SimEventQueue& queue() const { return queue_; }
  SimTrace& trace() { return trace_; }
  SimCoverage& coverage() { return coverage_; }

  /// Notes that `rank` does something; false when it has no effect, because the rank is dead or
  /// stopped for good. The kills and pauses of the profile strike here.
  bool act(int rank, SimAct what, std::uint64_t detail = 0, std::uint64_t more = 0);
  /// A rank that died in act() since the last call, or -1.
  int take_death();

  /// When something that `rank` does now, and that takes `delay`, arrives; not before `earliest`.
  Nanoseconds arrival(int rank, Nanoseconds delay, Nanoseconds earliest) const;
  void wake(int rank);
  /// Endpoint::note; without effect where act() would be.
  void note(int rank, std::uint64_t standing);
  /// Whoever uses the transport broke its rules; the run is a failure.
  void violation(std::string text);
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  void strike(int rank);

  SimOptions options_;
  Random random_;
  SimEventQueue queue_;
  SimTrace trace_;
  SimCoverage coverage_;
  Nanoseconds now_ = 1;
  std::vector<SimRank> ranks_;
  std::vector<int> deaths_;
  std::vector<std::string> violations_;
};

/// Hash of `bytes` bytes, for noticing changes.
std::uint64_t sim_hash(const std::byte* data, std::size_t bytes);

}  // namespace gyre::transport
