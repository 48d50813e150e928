// What the checker demands when every rank has finished: Execution's last part.
#include <algorithm>

#include "schedules/checker/execution.hpp"

namespace gyre::schedules::checker {

void Execution::judge() {
  report_.reason = links_.why_not_empty();
  results_.resize(static_cast<std::size_t>(world_.size));
  for (int rank = 0; rank < world_.size && !failed(); ++rank) {
    judge_caller(rank);
    if (!failed()) judge_result(rank);
    note_behaviour(-1, rank, 0, results_[static_cast<std::size_t>(rank)]);
  }
  if (failed() || !reduces(schedule_.collective)) return;
  judge_agreement();
  const Expression tree = expressions_.fixed_tree();
  report_.fixed_tree = true;
  for (const Runs& runs : results_)
    for (const Run& run : runs) report_.fixed_tree &= run.value == tree;
}

/// Once a rank has returned its caller uses the buffers again; and a barrier has kept its promise.
void Execution::judge_caller(int rank) {
  if (!tracks_) return;
  Clock now = lane_at(rank, 0).clock;
  for (int channel = 1; channel < world_.channels; ++channel)
    join(now, lane_at(rank, channel).clock);
  for (const bool output : {false, true}) {
    const std::size_t m = memory_index(rank, output);
    const int other =
        histories_[m].record(static_cast<std::uint32_t>(rank), now, 0, memories_[m].count(), true);
    if (other == AccessHistory::no_conflict) continue;
    report_.reason = "rank " + std::to_string(rank) + " can return while rank " +
                     std::to_string(other % world_.size) + " still uses its buffers";
    return;
  }
  if (schedule_.collective != Collective::barrier) return;
  for (int peer = 0; peer < world_.size && !failed(); ++peer)
    if (now[static_cast<std::size_t>(peer)] == 0)
      report_.reason = "rank " + std::to_string(rank) + " can leave the barrier before rank " +
                       std::to_string(peer) + " has entered it";
}

void Execution::judge_result(int rank) {
  const Layout& layout = layouts_[static_cast<std::size_t>(rank)];
  Runs& runs = results_[static_cast<std::size_t>(rank)];
  std::uint64_t base = layout.output_first;
  if (world_.in_place) base = std::min(base, layout.input_first);
  memories_[memory_index(rank, true)].read(layout.output_first - base, layout.output_count, runs);

  std::uint64_t element = layout.output_first;
  int owner = 0;  // all_gather: whose input `element` is
  const Plan plan = plan_of(world_, 0, 0);
  for (const Run& run : runs) {
    std::string fault;
    if (run.value == unwritten) {
      fault = "was never written";
    } else if (run.element != element) {
      fault = "holds element " + std::to_string(run.element);
    } else if (reduces(schedule_.collective)) {
      if (judged_.size() <= run.value) judged_.resize(run.value + 1);
      if (!judged_[run.value]) fault = expressions_.why_incomplete(run.value);
      judged_[run.value] = true;
    } else {
      while (schedule_.collective == Collective::all_gather &&
             element >= whole_chunk(plan, owner).end())
        ++owner;
      const bool gathers = schedule_.collective == Collective::all_gather;
      if (run.value != expressions_.leaf(gathers ? owner : world_.root) ||
          (gathers && element + run.count > whole_chunk(plan, owner).end()))
        fault = "is not the input of the rank it should come from";
    }
    if (!fault.empty()) {
      report_.reason = "rank " + std::to_string(rank) + ": element " + std::to_string(element) +
                       " of the result " + fault;
      return;
    }
    element += run.count;
  }
}

/// All ranks that have an element have it by the same expression. Runs are as long as they can be,
/// so equal results are equal lists of runs.
void Execution::judge_agreement() {
  if (schedule_.collective != Collective::all_reduce) return;
  for (std::size_t rank = 1; rank < results_.size(); ++rank) {
    const bool same =
        std::ranges::equal(results_[0], results_[rank], {}, &Run::value, &Run::value) &&
        std::ranges::equal(results_[0], results_[rank], {}, &Run::count, &Run::count);
    if (same) continue;
    report_.reason = "rank " + std::to_string(rank) +
                     " reduces an element in another order than rank 0, so its bits may differ";
    return;
  }
}

}  // namespace gyre::schedules::checker
