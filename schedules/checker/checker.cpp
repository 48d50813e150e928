#include "schedules/checker/checker.hpp"

#include "schedules/checker/execution.hpp"

namespace gyre::schedules::checker {

Report check(const Schedule& schedule, const World& world, const Override* override) {
  return Execution(schedule, world, override).run();
}

std::string why_not_ring_bound(const Schedule& schedule, const World& world, const Report& report) {
  const auto size = static_cast<std::uint64_t>(world.size);
  const std::uint64_t laps = schedule.collective == Collective::all_reduce ? 2 : 1;
  const std::uint64_t total = laps * (size - 1) * world.count;
  std::uint64_t sent = 0;
  for (int rank = 0; rank < world.size; ++rank) {
    const Traffic& traffic = report.traffic[static_cast<std::size_t>(rank)];
    const std::string who = "rank " + std::to_string(rank);
    sent += traffic.sent;
    if (traffic.cast + traffic.loaded + traffic.stored > 0)
      return who + " moves data otherwise than over its link";
    // Each lap leaves out one chunk, which is less than one element off its N-th of the whole.
    const std::uint64_t share = traffic.sent * size;
    if (share > total ? share - total >= laps * size : total - share >= laps * size)
      return who + " sends " + std::to_string(traffic.sent) + " elements";
    const Plan plan = plan_of(world, rank, 0);
    const int next = ring_rank(plan, own_position(plan) + 1);
    if (traffic.only_peer != next && traffic.only_peer != Traffic::nobody)
      return who + " sends to another than the next rank";
    if (world.count / size >= static_cast<std::uint64_t>(world.channels) &&
        traffic.sending_stages != laps * (size - 1))
      return who + " sends in " + std::to_string(traffic.sending_stages) + " stages";
  }
  if (sent != total)
    return "all ranks together send " + std::to_string(sent) + " elements, not " +
           std::to_string(total);
  return {};
}

}  // namespace gyre::schedules::checker
