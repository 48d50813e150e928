// What goes wrong in one simulated run, and how fast things are in it. A profile is drawn from the
// seed before anything happens, with most faults switched off in most profiles: runs that have few
// kinds of trouble, but much of those, find more than runs that have a little of everything (Groce
// and others, "Swarm testing", ISSTA 2012).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace gyre::transport {

/// How long something takes: uniform in [low, high]; `tail_percent` of the draws uniform in
/// [high, tail] instead.
struct SimDelay {
  Nanoseconds low = 0;
  Nanoseconds high = 0;
  Nanoseconds tail = 0;
  int tail_percent = 0;

  Nanoseconds draw(Random& random) const;
};

/// A rank dies when it is about to take its action number `at_action`, counted from 0: that action
/// and all later ones have no effect. Taking a step, and each call that others can notice, is one.
struct SimKill {
  int rank = -1;
  std::uint64_t at_action = 0;
};

/// A rank stops (SIGSTOP) in front of an action and goes on after `length`, or never.
struct SimPause {
  static constexpr Nanoseconds forever = std::numeric_limits<Nanoseconds>::max();
  int rank = -1;
  std::uint64_t at_action = 0;
  Nanoseconds length = forever;
};

/// Inverts a bit of a message's payload on its way. Never drawn; for tests of those who should
/// notice.
struct SimFlip {
  int from = -1;
  int to = -1;
  std::uint64_t message = 0;  ///< counted from 0 on the link
  std::uint64_t bit = 0;
};

struct SimProfile {
  SimDelay message{100, 200};            ///< until a message can be seen by its receiver
  SimDelay credit{100, 200};             ///< until a released slot can be seen by its sender
  SimDelay source{0, 200};               ///< until the memory of a posted message is no longer read
  SimDelay announcement{100, 200};       ///< until an announcement can be seen
  SimDelay leave{100, 200};              ///< until a leave can be seen
  SimDelay import{0, 1000};              ///< until memory of a peer is mapped
  SimDelay step{20, 100};                ///< what a step costs the rank that takes it
  SimDelay abort_notice{100, 1000};      ///< until an abort is seen by the others
  SimDelay death_notice{1000, 100'000};  ///< until a death is noticed by anybody

  int link_factor_max = 1;  ///< each link is slower by a factor from 1 to this
  int slow_rank = -1;       ///< its steps take `slow_factor` times as long
  int slow_factor = 1;

  int in_place_percent = 0;        ///< wishes for a receive in place that are granted
  int spurious_wake_percent = 0;   ///< of the steps: the rank is woken again for nothing
  int announce_busy_percent = 0;   ///< announcements that are turned away at first
  int pump_partial_percent = 0;    ///< of a rank's links: pump leaves them for the next time
  int import_refused_percent = 0;  ///< imports that never succeed
  bool cast_to_each = false;       ///< a cast link has a place per peer, not one for all
  bool clocks_differ = false;      ///< each rank's clock starts somewhere else

  std::vector<SimKill> kills;
  std::vector<SimPause> pauses;
  std::vector<SimFlip> flips;
};

/// What a drawn profile may contain.
struct SimLimits {
  int ranks = 2;
  bool deaths = true;           ///< kills and pauses without end
  bool refused_imports = true;  ///< operations on mapped memory may then fail
  std::uint64_t actions = 200;  ///< kills and pauses are drawn before this action
};

SimProfile draw_profile(Random& random, const SimLimits& limits);

/// One line that names everything in which `profile` differs from a default one.
std::string describe(const SimProfile& profile);

}  // namespace gyre::transport
