// A transport in memory under a virtual clock: N endpoints in one thread, whose every delay and
// fault comes from a seed. Two networks with the same options, used the same way, do exactly the
// same, and say so by equal trace hashes.
//
// It is a real transport: the engine runs over it unchanged, with links of either kind. Beside that
// it plays the judge: it reports every breach of the rules in endpoint.hpp and link.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/sim/core.hpp"
#include "transport/sim/memory.hpp"

namespace gyre::transport {

class SimChannel;
class SimEndpoint;

class SimNetwork {
 public:
  /// options.ranks from 1 to 256.
  explicit SimNetwork(const SimOptions& options);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;

  int ranks() const { return core_.ranks(); }
  Endpoint& endpoint(int rank);
  SimMemory& memory() { return memory_; }

  /// The time that everybody shares, from 1, and the one on `rank`'s own clock.
  Nanoseconds now() const { return core_.now(); }
  Nanoseconds now_at(int rank) const { return core_.now() + core_.rank(rank).clock_offset; }
  /// When the next event happens, or SimPause::forever.
  Nanoseconds next_event_at() const;
  /// Sets the time, which only rises, and lets happen what is due by then.
  void advance(Nanoseconds to);

  /// True once after something has changed for `rank`.
  bool take_ring(int rank);
  /// Notes that `rank` takes a step; false where it can't, now or ever again.
  bool begin_step(int rank);
  /// Buries the ranks that died during the step.
  void end_step(int rank);
  bool alive(int rank) const { return !core_.rank(rank).dead; }
  /// Until when `rank` stands still; a time in the past where it does not.
  Nanoseconds stopped_until(int rank) const { return core_.rank(rank).stopped_until; }
  /// What the step that `rank` has just taken costs it.
  Nanoseconds step_cost(int rank);
  /// Whether `rank` is in Endpoint::sleep and nothing has woken it by now.
  bool sleeps(int rank) const;
  Nanoseconds sleeps_until(int rank) const { return core_.rank(rank).sleeps_until; }
  /// Actions of `rank` so far; what kills and pauses count.
  std::uint64_t actions(int rank) const { return core_.rank(rank).actions; }

  const SimCoverage& coverage() { return core_.coverage(); }
  /// Breaches of the transport's rules, in words. Empty is the only good answer.
  const std::vector<std::string>& violations() const { return core_.violations(); }
  std::uint64_t trace_hash() { return core_.trace().hash(); }
  std::uint64_t trace_entries() { return core_.trace().entries(); }
  Random& random() { return core_.random(); }

 private:
  friend class SimEndpoint;

  SimChannel& channel(int from, int to);
  SimChannel& cast(int from);
  void handle(const SimEvent& event);
  void fail(const Failure& failure, int witness);
  void show_failure(int rank);

  SimCore core_;
  SimMemory memory_;
  std::vector<std::unique_ptr<SimChannel>> channels_;  ///< from * ranks + to; then one cast each
  std::vector<std::unique_ptr<SimEndpoint>> endpoints_;
  Failure failure_;
};

}  // namespace gyre::transport
