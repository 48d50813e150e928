// What a schedule is tried on: N ranks, a count, slots, and how the buffers lie. Shared by the
// checker and the oracle, so that both mean the same by "in place" and by "element 5 of the input".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "schedules/plan.hpp"
#include "schedules/table.hpp"

namespace gyre::schedules::checker {

struct World {
  int size = 2;
  int root = 0;
  std::uint64_t count = 0;  ///< of the whole operation, as in Plan
  std::uint64_t piece_elements = 1;
  int slots = 1;
  bool in_place = false;
  std::vector<std::int32_t> ring_order = {};  ///< empty: position i holds rank i
  int channels = 1;
};

/// The plan of one rank's channel. It refers to `world`.
Plan plan_of(const World& world, int rank, int channel);

/// Rank `rank`'s actions on channel 0.
std::vector<Action> program_of(const Schedule& schedule, const World& world, int rank);

/// Replaces the actions that one rank takes on channel 0; how mutants are tried.
struct Override {
  int rank = -1;
  std::span<const Action> actions = {};
};

/// Where one rank's buffers lie. Element i of the whole operation is element i - input_first of the
/// input, and i - output_first of the output. In place both are parts of one memory, which begins
/// at element min(input_first, output_first).
struct Layout {
  std::uint64_t input_first = 0;
  std::uint64_t input_count = 0;
  std::uint64_t output_first = 0;
  std::uint64_t output_count = 0;
};

Layout layout_of(Collective collective, const World& world, int rank);

/// Whether results are reductions (all ranks' elements), not copies of one rank's.
constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

}  // namespace gyre::schedules::checker
