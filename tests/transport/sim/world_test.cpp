#include "transport/sim/world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace gyre::transport;
using gyre::Nanoseconds;

namespace {

SimOutcome run(SimNetwork& network, std::vector<SimWorld::Program> programs,
               Nanoseconds deadline = 1'000'000'000, std::uint64_t steps_max = 10'000) {
  SimWorld world(network, std::move(programs));
  return world.run(deadline, steps_max);
}

}  // namespace

TEST_CASE("time passes only when nobody can go on, and then to the next moment") {
  SimNetwork network({.ranks = 1});
  std::vector<Nanoseconds> times;
  const auto program = [&](Nanoseconds now) {
    times.push_back(now);
    return times.size() == 3 ? SimStep::done() : SimStep::waiting(now + 5'000'000);
  };
  const SimOutcome outcome = run(network, {program});
  CHECK(outcome.end == SimOutcome::End::all_done);
  REQUIRE(times.size() == 3);
  CHECK(times[1] == times[0] + 5'000'000);
  CHECK(times[2] == times[1] + 5'000'000);
}

TEST_CASE("each rank waits by its own clock") {
  SimOptions options{.ranks = 2};
  options.profile.clocks_differ = true;
  SimNetwork network(options);
  Nanoseconds first[2] = {-1, -1};
  std::vector<SimWorld::Program> programs;
  for (const int rank : {0, 1})
    programs.push_back([&, rank](Nanoseconds now) {
      if (first[rank] >= 0) {
        CHECK(now == first[rank] + 1'000'000);
        return SimStep::done();
      }
      first[rank] = now;
      return SimStep::waiting(now + 1'000'000);
    });
  CHECK(run(network, programs).end == SimOutcome::End::all_done);
  CHECK(first[0] != first[1]);
}

TEST_CASE("a world that can't go on says why") {
  const auto waits = [](Nanoseconds) { return SimStep::waiting(); };
  const auto waits_long = [](Nanoseconds now) { return SimStep::waiting(now + 1'000); };
  const auto spins = [](Nanoseconds) { return SimStep::progressed(); };
  SimNetwork a({.ranks = 1}), b({.ranks = 1}), c({.ranks = 1});
  CHECK(run(a, {waits}).end == SimOutcome::End::stuck);
  CHECK(run(b, {waits_long}, 10'000).end == SimOutcome::End::late);
  CHECK(run(c, {spins}).end == SimOutcome::End::endless);
}

TEST_CASE("a paused rank goes on later, one stopped for good is not waited for") {
  SimOptions options{.ranks = 2};
  options.profile.pauses = {{.rank = 0, .at_action = 1, .length = 50'000'000},
                            {.rank = 1, .at_action = 2, .length = SimPause::forever}};
  SimNetwork network(options);
  int steps[2] = {};
  std::vector<SimWorld::Program> programs;
  for (const int rank : {0, 1})
    programs.push_back([&steps, rank](Nanoseconds) {
      return ++steps[rank] == 5 ? SimStep::done() : SimStep::progressed();
    });
  const SimOutcome outcome = run(network, programs);
  CHECK(outcome.end == SimOutcome::End::all_done);
  CHECK(outcome.at > 50'000'000);
  CHECK(steps[0] == 5);
  CHECK(steps[1] == 2);
}

TEST_CASE("ranks that can go on take turns in many orders") {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimNetwork network({.ranks = 3, .seed = seed});
    std::vector<int> order;
    std::vector<SimWorld::Program> programs;
    for (const int rank : {0, 1, 2})
      programs.push_back([&order, rank](Nanoseconds) {
        order.push_back(rank);
        return SimStep::done();
      });
    CHECK(run(network, programs).end == SimOutcome::End::all_done);
    orders.insert(order);
  }
  CHECK(orders.size() == 6);
}
