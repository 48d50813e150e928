// Runs N programs, one per rank of a SimNetwork, in one thread: whoever can go on takes a step, in
// an order drawn from the seed, and time passes only when nobody can.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "transport/sim/network.hpp"

namespace gyre::transport {

/// What a program says after a step.
struct SimStep {
  enum class State : std::uint8_t {
    done,        ///< it has ended, and takes no more steps
    waiting,     ///< nothing to do before something changes for this rank, or `until`
    progressed,  ///< call again
  };
  State state = State::done;
  Nanoseconds until = SimPause::forever;  ///< on the rank's own clock

  static SimStep done() { return {}; }
  static SimStep progressed() { return {State::progressed, 0}; }
  static SimStep waiting(Nanoseconds until = SimPause::forever) { return {State::waiting, until}; }
};

struct SimOutcome {
  enum class End : std::uint8_t {
    all_done,  ///< every rank that could ended
    stuck,     ///< nobody can go on and nothing more will happen
    late,      ///< the virtual deadline passed
    endless,   ///< the bound on steps was reached
  };
  End end = End::all_done;
  std::uint64_t steps = 0;
  Nanoseconds at = 0;
};

std::string_view name_of(SimOutcome::End end);

class SimWorld {
 public:
  /// Advances one rank; `now` is the time on its own clock.
  using Program = std::function<SimStep(Nanoseconds now)>;

  /// One program per rank. Programs of ranks that die are not called again, but must stay valid,
  /// with the memory that they gave to the transport, until the network is gone.
  SimWorld(SimNetwork& network, std::vector<Program> programs);

  /// Until every rank has ended, or died or stopped for good, or a limit is reached.
  SimOutcome run(Nanoseconds deadline, std::uint64_t steps_max);

 private:
  struct Rank {
    bool done = false;
    bool waiting = false;
    Nanoseconds until = 0;  ///< while waiting; on the shared clock
    Nanoseconds ready_at = 0;
  };

  bool finished() const;
  /// When `rank` can take its next step, if nothing changes: now or earlier where it can at once.
  Nanoseconds ready_at(int rank);
  void step(int rank);

  SimNetwork& network_;
  std::vector<Program> programs_;
  std::vector<Rank> ranks_;
};

}  // namespace gyre::transport
