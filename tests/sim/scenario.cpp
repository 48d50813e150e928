#include "tests/sim/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/random.hpp"
#include "schedules/table.hpp"

namespace gyre::sim {
namespace {

using collectives::Call;
using collectives::Rule;
using transport::LinkKind;

constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();

Collective draw_collective(Random& random) {
  return random.pick(std::span(collective_table)).collective;
}

const schedules::Schedule* draw_schedule(Random& random, Collective collective) {
  std::vector<const schedules::Schedule*> rows;
  for (const auto& row : schedules::schedule_table)
    if (row.collective == collective) rows.push_back(&row);
  return random.pick(std::span(rows));
}

/// One drawn rule for each collective, and behind it one that always fits.
std::vector<Rule> draw_rules(Random& random, std::size_t slot_bytes) {
  std::vector<Rule> rules;
  for (const auto& row : collective_table) {
    const auto draw_piece = [&] {
      return static_cast<std::uint32_t>(random.between(8, static_cast<std::int64_t>(slot_bytes)));
    };
    const std::uint64_t most = random.chance(1, 2) ? any_size : random.below(1000);
    rules.push_back({draw_schedule(random, row.collective), most,
                     static_cast<int>(random.between(1, 4)), draw_piece()});
    for (const auto& schedule : schedules::schedule_table) {
      if (schedule.collective != row.collective) continue;
      if (schedule.needs != schedules::Needs::slots) continue;
      rules.push_back({&schedule, any_size, 1, draw_piece()});
      break;
    }
  }
  return rules;
}

/// Sizes at which things change: nothing, one, the slots' boundaries, and multiples of the ranks.
std::uint64_t draw_count(Random& random, const transport::SlotShape& shape, int ranks,
                         DataType type) {
  const std::uint64_t per_slot = std::max<std::uint64_t>(1, shape.slot_bytes / size_of(type));
  const auto slots = static_cast<std::uint64_t>(shape.slots);
  switch (random.below(8)) {
    case 0: return random.below(2);
    case 1: return 7;
    case 2: return random.below(41);
    case 3: return per_slot * random.below(2 * slots + 1) + random.below(3);
    case 4: return per_slot * static_cast<std::uint64_t>(ranks) * random.below(4) + random.below(3);
    case 5: return std::max<std::uint64_t>(1, per_slot * static_cast<std::uint64_t>(ranks)) - 1;
    default: return random.below(per_slot * 6 + 2);
  }
}

/// A valid call; counts of reduce_scatter and all_gather are multiples of the number of ranks.
Call draw_call(Random& random, const transport::SlotShape& shape, int ranks) {
  Call call;
  call.collective = draw_collective(random);
  if (call.collective == Collective::barrier) return call;
  call.type = random.pick(std::span(data_types)).type;
  call.count = draw_count(random, shape, ranks, call.type);
  const bool reduces =
      call.collective == Collective::all_reduce || call.collective == Collective::reduce_scatter;
  if (reduces) {
    call.op = random.pick(std::span(reduce_ops)).op;
    // The reference divides exactly only then; see tests/collectives/reference.hpp.
    const bool exact = find(call.type)->integer || (ranks & (ranks - 1)) == 0;
    if (call.op == ReduceOp::avg && !exact) call.op = ReduceOp::sum;
  }
  if (call.collective == Collective::reduce_scatter || call.collective == Collective::all_gather)
    call.count -= call.count % static_cast<std::uint64_t>(ranks);
  if (call.collective == Collective::broadcast)
    call.root = static_cast<int>(random.between(0, ranks - 1));
  return call;
}

SharedCall draw_shared_call(Random& random, const Scenario& scenario) {
  const int ranks = scenario.network.ranks;
  SharedCall shared;
  shared.call = draw_call(random, scenario.network.shape, ranks);
  shared.in_place = random.chance(1, 3);
  shared.rough = shared.call.op == ReduceOp::sum && shared.call.count > 0 &&
                 (shared.call.collective == Collective::all_reduce ||
                  shared.call.collective == Collective::reduce_scatter) &&
                 !find(shared.call.type)->integer && size_of(shared.call.type) >= 4 &&
                 random.chance(1, 2);
  const std::uint64_t mappable = random.below(3);  // none, all, some
  for (int rank = 0; rank < ranks; ++rank) {
    shared.mappable.push_back(mappable == 1 || (mappable == 2 && random.chance(1, 2)));
    shared.think_ns.push_back(random.chance(1, 4) ? random.between(0, 1'000'000) : 0);
  }
  return shared;
}

void draw_mismatch(Random& random, Scenario& scenario) {
  const int ranks = scenario.network.ranks;
  const std::size_t index = static_cast<std::size_t>(random.below(scenario.calls.size()));
  const Call odd = draw_call(random, scenario.network.shape, ranks);
  if (odd == scenario.calls[index].call) return;
  scenario.odd_rank = static_cast<int>(random.between(0, ranks - 1));
  scenario.odd_index = index;
  scenario.odd_call = odd;
}

void append(std::string& text, const Scenario& scenario, std::size_t index) {
  const SharedCall& shared = scenario.calls[index];
  const auto out = std::back_inserter(text);
  fmt::format_to(out, " [{}: {}{}{} mappable=", index + 1, collectives::describe(shared.call),
                 shared.in_place ? ", in place" : "", shared.rough ? ", rough" : "");
  for (const bool mappable : shared.mappable) text += mappable ? '1' : '0';
  text += ']';
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed, const Dangers& dangers) {
  Random random(seed ^ 0x67797265u);
  Scenario scenario;
  scenario.seed = seed;
  auto& network = scenario.network;
  network.seed = seed;
  network.ranks = static_cast<int>(random.between(1, 9));
  network.kind = random.chance(1, 2) ? LinkKind::memory : LinkKind::message;
  network.maps_memory = network.kind == LinkKind::memory && random.chance(3, 4);
  network.shape.slot_bytes = std::size_t{16} << random.below(5);
  network.shape.slots = static_cast<int>(random.between(1, 8));
  network.profile =
      transport::draw_profile(random, {.ranks = network.ranks,
                                       .deaths = dangers.deaths,
                                       .refused_imports = dangers.deaths,
                                       .actions = std::uint64_t{8} << random.below(7)});
  scenario.tuning.slot_bytes = static_cast<std::uint32_t>(network.shape.slot_bytes);
  scenario.tuning.slots = network.shape.slots;
  scenario.tuning.rules = draw_rules(random, network.shape.slot_bytes);
  if (random.chance(1, 3))
    scenario.tuning.forced = random.pick(std::span(schedules::schedule_table)).algorithm;
  scenario.strict = random.chance(1, 4);
  scenario.uses_doorbell = random.chance(1, 2);
  scenario.in_flight = random.chance(1, 2) ? 1 : 3;
  const std::uint64_t calls = 1 + random.below(5);
  for (std::uint64_t i = 0; i < calls; ++i)
    scenario.calls.push_back(draw_shared_call(random, scenario));
  if (dangers.mismatches && network.ranks > 1) draw_mismatch(random, scenario);
  return scenario;
}

Scenario plain_scenario(Collective collective, std::string_view algorithm, int ranks, LinkKind kind,
                        std::uint64_t count, int calls) {
  Scenario scenario;
  scenario.network.ranks = ranks;
  scenario.network.kind = kind;
  scenario.network.maps_memory = kind == LinkKind::memory;
  scenario.network.shape = {32, 2};
  scenario.tuning.slot_bytes = 32;
  scenario.tuning.slots = 2;
  scenario.tuning.forced = algorithm;
  SharedCall shared;
  shared.call.collective = collective;
  shared.call.count = count;
  if (collective == Collective::reduce_scatter || collective == Collective::all_gather)
    shared.call.count *= static_cast<std::uint64_t>(ranks);
  if (collective == Collective::barrier) shared.call.count = 0;
  shared.mappable.assign(static_cast<std::size_t>(ranks), scenario.network.maps_memory);
  shared.think_ns.assign(static_cast<std::size_t>(ranks), 0);
  scenario.calls.assign(static_cast<std::size_t>(calls), shared);
  return scenario;
}

std::string describe(const Scenario& scenario) {
  const auto& network = scenario.network;
  std::string text = fmt::format(
      "seed={} ranks={} links={} maps={} slots={}x{} algorithm={} strict={} doorbell={} "
      "in_flight={}",
      scenario.seed, network.ranks, network.kind == LinkKind::memory ? "memory" : "message",
      network.maps_memory, network.shape.slots, network.shape.slot_bytes,
      scenario.tuning.forced.empty() ? "any" : scenario.tuning.forced, scenario.strict,
      scenario.uses_doorbell, scenario.in_flight);
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) append(text, scenario, i);
  if (scenario.odd_rank >= 0)
    fmt::format_to(std::back_inserter(text), " odd=(rank {} call {}: {})", scenario.odd_rank,
                   scenario.odd_index + 1, collectives::describe(scenario.odd_call));
  return text + " " + transport::describe(network.profile);
}

}  // namespace gyre::sim
