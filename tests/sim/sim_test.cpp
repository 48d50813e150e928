// N complete runtimes in one thread under a virtual clock: every collective, algorithm and size
// under drawn faults. A failure prints the seed that replays it; see docs/internals/simulation.md.
//
// GYRE_TEST_SEEDS=count: how many seeds the drawn runs take, instead of their own number.
// GYRE_TEST_SEED=seed: only that one, and what it did.
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <string>

#include "schedules/table.hpp"
#include "tests/sim/judge.hpp"

using namespace gyre;
using sim::Dangers;
using sim::Scenario;
using sim::Verdict;
using transport::LinkKind;

namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Totals {
  std::uint64_t runs = 0;
  std::uint64_t ok_calls = 0;
  std::uint64_t failed_calls = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t misblamed = 0;
  std::map<std::string, std::uint64_t> algorithms;
  transport::SimCoverage coverage;

  void add(const Verdict& verdict) {
    ++runs;
    ok_calls += verdict.ok_calls;
    failed_calls += verdict.failed_calls;
    timeouts += verdict.timeouts;
    misblamed += verdict.misblamed;
    for (const auto& [name, count] : verdict.algorithms) algorithms[name] += count;
    coverage.add(verdict.coverage);
  }
};

void require_good(const Scenario& scenario, const Verdict& verdict) {
  if (verdict.complaint.empty()) return;
  FAIL(fmt::format("{}\n  at step {}, {} ns: {}", verdict.complaint, verdict.outcome.steps,
                   verdict.outcome.at, sim::describe(scenario)));
}

/// Runs drawn scenarios; every 16th twice, to see that it replays.
Totals run_seeds(std::uint64_t count, const Dangers& dangers) {
  Totals totals;
  std::uint64_t first = 1;
  if (const std::uint64_t only = number_from("GYRE_TEST_SEED", 0); only > 0) {
    first = only;
    count = 1;
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Scenario scenario = sim::draw_scenario(seed, dangers);
    const Verdict verdict = sim::run(scenario);
    require_good(scenario, verdict);
    if (seed % 16 == 0 && sim::run(scenario).trace_hash != verdict.trace_hash)
      FAIL("the same seed gave another run: " << sim::describe(scenario));
    totals.add(verdict);
    if (count == 1)
      WARN(fmt::format("trace {:016x}, {} steps, {} ns: {}", verdict.trace_hash,
                       verdict.outcome.steps, verdict.outcome.at, sim::describe(scenario)));
  }
  return totals;
}

/// Kills rank `victim` in front of each of its actions in turn.
std::uint64_t kill_everywhere(const Scenario& healthy, int victim) {
  const Verdict whole = sim::run(healthy);
  require_good(healthy, whole);
  const std::uint64_t actions = whole.actions[static_cast<std::size_t>(victim)];
  for (std::uint64_t at = 0; at < actions; ++at) {
    Scenario scenario = healthy;
    scenario.network.profile.kills = {{victim, at}};
    require_good(scenario, sim::run(scenario));
  }
  return actions;
}

std::uint64_t kill_all(int ranks_max, const std::vector<std::uint64_t>& counts) {
  std::uint64_t runs = 0;
  for (const auto& row : schedules::schedule_table) {
    for (const LinkKind kind : {LinkKind::memory, LinkKind::message}) {
      if (row.needs == schedules::Needs::mapped && kind == LinkKind::message) continue;
      for (int ranks = 2; ranks <= ranks_max; ++ranks) {
        for (const std::uint64_t count : counts) {
          const Scenario scenario =
              sim::plain_scenario(row.collective, row.algorithm, ranks, kind, count, 2);
          for (int victim = 0; victim < ranks; ++victim) runs += kill_everywhere(scenario, victim);
        }
      }
    }
  }
  return runs;
}

}  // namespace

TEST_CASE("every call ends right under any delays and orders and pauses") {
  const Totals totals = run_seeds(number_from("GYRE_TEST_SEEDS", 1500), {.deaths = false});
  CHECK(totals.failed_calls == 0);
  if (totals.runs < 1000) return;
  for (const auto& row : schedules::schedule_table) {
    INFO(row.algorithm);
    CHECK(totals.algorithms.at(std::string(row.algorithm)) > 20);
  }
  CHECK(totals.algorithms.at("announcement") > 100);
}

TEST_CASE("when ranks die or stop every survivor is told in time") {
  const Totals totals = run_seeds(number_from("GYRE_TEST_SEEDS", 1500), {.deaths = true});
  if (totals.runs < 1000) return;
  CHECK(totals.failed_calls > 200);
  CHECK(totals.timeouts > 50);
  CHECK(totals.misblamed * 20 <= totals.timeouts);
  for (const auto& field : transport::sim_coverage_fields) {
    if (field.count == &transport::SimCoverage::flips) continue;
    INFO(field.what);
    CHECK(totals.coverage.*field.count > 0);
  }
}

TEST_CASE("a rank that makes another call than the rest is found out") {
  const Totals totals =
      run_seeds(number_from("GYRE_TEST_SEEDS", 700), {.deaths = false, .mismatches = true});
  CHECK(totals.timeouts == 0);  // by comparing calls, not by waiting for a deadline
  if (totals.runs >= 500) CHECK(totals.failed_calls > 200);
}

TEST_CASE("a rank killed in front of any of its actions is named by all that notice") {
  CHECK(kill_all(3, {5, 41}) > 1000);
}

TEST_CASE("a rank killed anywhere over more ranks and sizes", "[.long]") {
  CHECK(kill_all(4, {0, 1, 7, 8, 9, 65}) > 10'000);
}

TEST_CASE("a hundred thousand seeds without deaths", "[.long]") {
  const Totals totals = run_seeds(number_from("GYRE_TEST_SEEDS", 100'000), {.deaths = false});
  CHECK(totals.failed_calls == 0);
}

TEST_CASE("a hundred thousand seeds with deaths", "[.long]") {
  const Totals totals = run_seeds(number_from("GYRE_TEST_SEEDS", 100'000), {.deaths = true});
  CHECK(totals.ok_calls > totals.failed_calls);
}

TEST_CASE("a flipped bit of payload does not go unseen by this test") {
  Scenario scenario =
      sim::plain_scenario(Collective::all_reduce, "ring", 3, LinkKind::memory, 50, 1);
  scenario.network.profile.flips = {{.from = 1, .to = 2, .message = 1, .bit = 20}};
  const Verdict verdict = sim::run(scenario);
  CHECK(verdict.coverage.flips == 1);
  CHECK(verdict.complaint.find("is wrong") != std::string::npos);
}
