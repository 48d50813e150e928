// Wrong programs, made from right ones by the smallest changes. A checker that lets one pass that
// isn't right after all is worth nothing, so each must be killed, or shown to be equivalent.
//
// A mutant is one rank's program with one change; all other ranks run the original. It is
//
//   killed            the checker finds a fault in it
//   the same program  once actions that move nothing are left out, it is the original, word by word
//   the same seen     it is right, and every link carries the same messages in the same order, and
//                     every result is the same expression: nobody outside the rank can tell
//   another right one it is right, but differs in what others see
//
// The last three are equivalent. What the checker passes is also run on numbers by the oracle.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/checker/world.hpp"

namespace gyre::schedules::checker {

enum class Change : std::uint8_t {
  next_peer,         ///< one operand's peer + 1, modulo the size
  previous_peer,     ///< and - 1
  next_chunk,        ///< one operand (or all together) moved to the same place in the next chunk
  previous_chunk,    ///< and in the one before
  next_element,      ///< one operand's offset + 1
  previous_element,  ///< and - 1
  dropped,
  doubled,
  swapped,   ///< with the action after it
  verb,      ///< combine instead of copy, copy instead of combine
  finalize,  ///< where it was not, and not where it was
  event,     ///< a wait or a signal is left out
};
inline constexpr std::size_t change_count = 12;
inline constexpr std::array<std::string_view, change_count> change_names = {
    "peer+1", "peer-1", "chunk+1", "chunk-1", "elem+1",   "elem-1",
    "drop",   "double", "swap",    "verb",    "finalize", "event"};

struct Edit {
  Change change = Change::dropped;
  std::uint64_t step = 0;
  Action action;  ///< instead of the one at `step`; unused by dropped, doubled and swapped
};

/// Every edit of `program`, which belongs to a rank of `world`.
std::vector<Edit> edits_of(const World& world, const std::vector<Action>& program);

std::vector<Action> edited(const std::vector<Action>& program, const Edit& edit);

struct Tally {
  std::uint64_t generated = 0;
  std::uint64_t killed = 0;
  std::uint64_t same_program = 0;
  std::uint64_t same_seen = 0;
  std::uint64_t another_right = 0;
  std::uint64_t equivalent() const { return same_program + same_seen + another_right; }
  void add(const Tally& other);
};
using Tallies = std::array<Tally, change_count>;

/// Tries every mutant of every rank, `world` having one channel. `doubts` gets a line for each one
/// that the oracle finds wrong although the checker passes it, and if the original isn't right.
Tallies try_mutants(const Schedule& schedule, const World& world, std::vector<std::string>& doubts);

/// A world in which every schedule has a few pieces, chunks of different lengths where the
/// collective allows it, and a last piece that is shorter.
World uneven_world(const Schedule& schedule, int size, int slots, bool in_place);

/// One with fewer elements than ranks, so that some chunks and messages are empty; one element per
/// rank where the collective wants a multiple.
World sparse_world(const Schedule& schedule, int size, int slots, bool in_place);

}  // namespace gyre::schedules::checker
