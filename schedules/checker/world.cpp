#include "schedules/checker/world.hpp"

namespace gyre::schedules::checker {

Plan plan_of(const World& world, int rank, int channel) {
  Plan plan;
  plan.rank = rank;
  plan.size = world.size;
  plan.root = world.root;
  plan.count = world.count;
  plan.piece_elements = world.piece_elements;
  plan.slots = world.slots;
  plan.channel = channel;
  plan.channels = world.channels;
  if (!world.ring_order.empty()) {
    plan.ring_order = world.ring_order.data();
    while (plan.ring_order[plan.ring_position] != rank) ++plan.ring_position;
  }
  return plan;
}

std::vector<Action> program_of(const Schedule& schedule, const World& world, int rank) {
  const Plan plan = plan_of(world, rank, 0);
  std::vector<Action> program;
  for (std::uint64_t step = 0; step < step_count(schedule, plan); ++step)
    program.push_back(action_at(schedule, plan, step));
  return program;
}

Layout layout_of(Collective collective, const World& world, int rank) {
  Plan plan;
  plan.size = world.size;
  plan.count = world.count;
  const Range own = whole_chunk(plan, rank);
  switch (collective) {
    case Collective::all_reduce: return {0, world.count, 0, world.count};
    case Collective::reduce_scatter: return {0, world.count, own.begin, own.count};
    case Collective::all_gather: return {own.begin, own.count, 0, world.count};
    case Collective::broadcast: return {0, rank == world.root ? world.count : 0, 0, world.count};
    case Collective::barrier: return {};
  }
  return {};
}

}  // namespace gyre::schedules::checker
