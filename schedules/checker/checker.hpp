// Proves that a schedule is right on a given world (N, count, slots, in place or not, channels),
// for every interleaving and all values, or says where it goes wrong.
//
// It executes the schedule of all ranks symbolically, over bounded links. One execution decides:
//
//   A link is a queue with one writer, and each of its readers counts its own messages; an event is
//   a counter with one writer that only rises. So an action that may go may still go after anything
//   any other rank does: nobody else takes its message, its credit or its event. Two actions that
//   may both go can therefore go in either order, with the same outcome. Hence all maximal
//   executions consist of the same actions and end in the same state (Keller, "A fundamental
//   theorem of asynchronous parallel computation", 1975): if one deadlocks all do, if one
//   finishes all do, and every message has the same contents in all of them.
//
// That argument needs memory to be free of races too. Buffers that only their own rank touches
// are; for memory that peers load and store directly, and for buffers that several channels share,
// the checker keeps vector clocks and demands that any two conflicting accesses are ordered by
// messages or events. (That a credit orders them as well isn't used: it could only excuse more.)
// The caller counts as well: he writes his buffers before the call and after it returns.
//
// What it proves:
//   - every rank finishes: no deadlock, and no wait for a message that nobody sends
//   - every element of every result combines each rank's input exactly once, finalized exactly once
//     after that (reductions), or is the right rank's input (gather, broadcast)
//   - all ranks have the same expression for the same element, so the same bits
//   - nothing is read before it was written, in buffers, slots or scratch; with in-place buffers,
//     whose input and output are one memory here, nothing is overwritten that is still needed
//   - both ends of a link agree about every message's length; none is longer than a slot, none is
//     left behind; nothing is accessed outside of a buffer
//   - sources and destinations of one action overlap only where they begin at the same element
//   - barrier: a rank returns only after all have entered
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/checker/world.hpp"

namespace gyre::schedules::checker {

/// What one rank moved, in elements.
struct Traffic {
  static constexpr int nobody = -1;
  static constexpr int several = -2;

  std::uint64_t sent = 0;    ///< over pairwise links
  std::uint64_t cast = 0;    ///< into the cast link, however many read it
  std::uint64_t loaded = 0;  ///< from peers' mapped buffers
  std::uint64_t stored = 0;  ///< to peers' mapped buffers
  int only_peer = nobody;    ///< to whom it sent or cast
  std::uint32_t sending_stages = 0;
};

struct Report {
  std::string reason;         ///< why the schedule is wrong, naming rank, step, action; "" if right
  std::uint64_t actions = 0;  ///< taken by all ranks
  /// Reductions: every element is reduced by the one binary tree over the ranks that reproducible
  /// mode demands (neighbours first, see Expressions::fixed_tree).
  bool fixed_tree = false;
  /// A number for all that can be seen from outside: every link's messages in their order, and
  /// every result, as expressions. Right schedules with the same number behave the same.
  std::uint64_t behaviour = 0;
  std::vector<Traffic> traffic;  ///< by rank

  bool right() const { return reason.empty(); }
};

/// `override` replaces one rank's actions; they belong to the caller.
Report check(const Schedule& schedule, const World& world, const Override* override = nullptr);

/// Whether a ring's `report` shows exactly the bytes that the bound allows: in all 2(N-1) x M
/// ((N-1) x M for a half), each rank its N-th with remainders spread, nothing to anyone but the
/// next rank, in 2(N-1) (N-1) stages. "" if so, else what differs.
std::string why_not_ring_bound(const Schedule& schedule, const World& world, const Report& report);

}  // namespace gyre::schedules::checker
