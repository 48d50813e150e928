// What the proofs over many worlds share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/sanitizers.hpp"
#include "schedules/checker/checker.hpp"

namespace gyre::schedules::checker {

/// Under a sanitizer a proof is twenty times slower. There it only shows that the checker and the
/// schedules are sound code, for which some sizes do; all are proven in a plain build.
inline constexpr bool thinned = under_thread_sanitizer || under_address_sanitizer;

/// `values`, or the first of them where proofs are thinned.
inline std::vector<int> to_prove(std::initializer_list<int> values) {
  return thinned ? std::vector<int>{*values.begin()} : std::vector<int>(values);
}

/// A world with `pieces` pieces per chunk (or per whole, where a schedule cuts that): the last one
/// short, and chunks of different lengths where the collective allows it.
inline World world_of_pieces(const Schedule& schedule, int size, int slots, std::uint64_t pieces) {
  constexpr std::uint64_t piece_elements = 6;
  const auto ranks = static_cast<std::uint64_t>(size);
  World world;
  world.size = size;
  world.root = size / 2;
  world.slots = slots;
  world.piece_elements = piece_elements;
  world.count = ranks * (pieces * piece_elements - 2);
  if (schedule.collective == Collective::all_reduce || schedule.collective == Collective::broadcast)
    world.count += ranks / 2;
  const bool cuts_whole =
      schedule.algorithm == "halving_doubling" ||
      (schedule.algorithm == "one_shot" && schedule.collective != Collective::all_gather);
  if (cuts_whole) world.piece_elements *= ranks;
  return world;
}

/// "" if `schedule` is right there, and a ring within its bound too; else why not.
inline std::string why_not_proven(const Schedule& schedule, const World& world,
                                  std::uint64_t* actions = nullptr) {
  const Report report = check(schedule, world);
  if (actions != nullptr) *actions += report.actions;
  if (!report.right()) return report.reason;
  return schedule.algorithm == "ring" && world.size > 1
             ? why_not_ring_bound(schedule, world, report)
             : "";
}

inline std::string name_of(const Schedule& schedule, const World& world) {
  return std::string(gyre::name_of(schedule.collective)) + " " + std::string(schedule.algorithm) +
         ", N " + std::to_string(world.size) + ", root " + std::to_string(world.root) + ", count " +
         std::to_string(world.count) + ", piece " + std::to_string(world.piece_elements) +
         ", slots " + std::to_string(world.slots) + ", channels " + std::to_string(world.channels) +
         (world.in_place ? ", in place" : ", out of place");
}

}  // namespace gyre::schedules::checker
