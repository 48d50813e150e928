// A checker is worth what it refuses: every mutant is killed, or shown to behave like the original.
// The table of `schedule-mutants` counts them.
#include "schedules/checker/mutants.hpp"

#include <catch2/catch_test_macros.hpp>
#include <iterator>

#include "schedules/checker/checker.hpp"
#include "schedules/checker/expression.hpp"
#include "schedules/checker/oracle.hpp"

using namespace gyre::schedules;
using namespace gyre::schedules::checker;

namespace {

void try_all(const Schedule& schedule, int size, int slots, bool in_place) {
  for (const auto make_world : {uneven_world, sparse_world}) {
    const World world = make_world(schedule, size, slots, in_place);
    std::vector<std::string> doubts;
    const Tallies tallies = try_mutants(schedule, world, doubts);
    INFO(gyre::name_of(schedule.collective)
         << " " << schedule.algorithm << ", N " << size << ", slots " << slots << ", in place "
         << in_place << ", count " << world.count);
    for (const std::string& doubt : doubts) CHECK(doubt == "");
    for (std::size_t i = 0; i < change_count; ++i) {
      INFO(change_names[i]);
      CHECK(tallies[i].generated == tallies[i].killed + tallies[i].equivalent());
      CHECK(tallies[i].another_right == 0);
    }
    // Where every rank moves something, no event can be spared and nothing be left out.
    if (make_world == sparse_world) continue;
    for (const Change change : {Change::event, Change::dropped}) {
      const Tally& tally = tallies[static_cast<std::size_t>(change)];
      CHECK(tally.killed == tally.generated);
    }
  }
}

void try_sizes(int first, int last) {
  for (const Schedule& schedule : schedule_table)
    for (int size = first; size <= last; ++size)
      for (const int slots : {1, 2, 8})
        for (const bool in_place : {false, true}) try_all(schedule, size, slots, in_place);
}

}  // namespace

TEST_CASE("every mutant is killed or behaves like the original, N = 2 to 5") { try_sizes(2, 5); }

TEST_CASE("every mutant is killed or behaves like the original, N = 6 to 9", "[.long]") {
  try_sizes(6, 9);
}

TEST_CASE("no two changes together pass the checker and fail on numbers") {
  std::uint64_t state = 11;
  const auto draw = [&](std::uint64_t below) { return (state = scrambled(state)) % below; };
  int passed = 0;
  for (int i = 0; i < 4000; ++i) {
    const Schedule& schedule = schedule_table[draw(std::size(schedule_table))];
    const int size = 2 + static_cast<int>(draw(4));
    const World world = uneven_world(schedule, size, 1 + static_cast<int>(draw(4)), draw(2) == 1);
    const int rank = static_cast<int>(draw(static_cast<std::uint64_t>(size)));
    std::vector<Action> program = program_of(schedule, world, rank);
    for (int change = 0; change < 2 && !program.empty(); ++change) {
      const std::vector<Edit> edits = edits_of(world, program);
      program = edited(program, edits[draw(edits.size())]);
    }
    const Override override{rank, program};
    if (!check(schedule, world, &override).right()) continue;
    ++passed;
    for (std::uint64_t seed = 0; seed < 3; ++seed)
      CHECK(run_concrete(schedule, world, seed, &override) == "");
  }
  CHECK(passed > 0);
}

TEST_CASE("the oracle and the checker agree that the originals are right") {
  for (const Schedule& schedule : schedule_table) {
    for (int size = 1; size <= 6; ++size) {
      for (const int slots : {1, 2, 8}) {
        for (const bool in_place : {false, true}) {
          World world = uneven_world(schedule, size, slots, in_place);
          if (schedule.collective == gyre::Collective::barrier) world.count = 0;
          world.channels = 1 + size % 2;
          INFO(gyre::name_of(schedule.collective) << " " << schedule.algorithm << ", N " << size);
          CHECK(check(schedule, world).reason == "");
          CHECK(run_concrete(schedule, world, 5) == "");
        }
      }
    }
  }
}
