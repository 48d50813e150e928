// What one simulated run does: the network with its faults, the tuning, and the calls that every
// rank makes. Drawn from a seed, or made by hand for a particular case.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "collectives/call.hpp"
#include "collectives/tuner.hpp"
#include "transport/sim/core.hpp"

namespace gyre::sim {

/// One collective as all ranks make it.
struct SharedCall {
  collectives::Call call;
  bool in_place = false;
  /// Values whose sums are rounded; ranks must then agree on every bit, and be close to the truth.
  bool rough = false;
  std::vector<bool> mappable;         ///< by rank: whether its buffers are
  std::vector<Nanoseconds> think_ns;  ///< by rank: how long it does something else before
};

struct Scenario {
  std::uint64_t seed = 0;
  transport::SimOptions network;
  collectives::Tuning tuning;
  bool strict = false;
  bool uses_doorbell = false;   ///< ranks sleep as the driver does, in two steps
  std::uint64_t in_flight = 1;  ///< calls that a rank starts before it waits for the first
  Nanoseconds timeout_ns = 20'000'000'000;
  std::vector<SharedCall> calls;

  // One rank makes another call than the rest, where odd_rank >= 0.
  int odd_rank = -1;
  std::size_t odd_index = 0;
  collectives::Call odd_call;

  const collectives::Call& call_of(int rank, std::size_t index) const {
    return rank == odd_rank && index == odd_index ? odd_call : calls[index].call;
  }
};

/// Which faults a drawn scenario may have beside delays and short pauses.
struct Dangers {
  bool deaths = true;       ///< ranks killed, stopped for good, imports refused
  bool mismatches = false;  ///< one rank makes another call
};

Scenario draw_scenario(std::uint64_t seed, const Dangers& dangers);

/// `calls` equal calls with one algorithm ("" for the announcements alone), without any fault.
Scenario plain_scenario(Collective collective, std::string_view algorithm, int ranks,
                        transport::LinkKind kind, std::uint64_t count, int calls);

/// "seed=.. ranks=.. ..." with all calls and the fault profile: enough to see what a run was.
std::string describe(const Scenario& scenario);

}  // namespace gyre::sim
