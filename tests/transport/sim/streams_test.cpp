// Many runs of a simple exchange under drawn faults: what the transport promises must hold in all
// of them, and the faults must really happen.
#include "tests/transport/sim/streams.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <set>

#include "transport/sim/coverage.hpp"

using namespace gyre::transport;
using gyre::Code;
using gyre::Random;
using test::AllToAll;

namespace {

SimOptions drawn(std::uint64_t seed, bool deaths) {
  Random random(seed);
  SimOptions options;
  options.seed = seed;
  options.ranks = static_cast<int>(random.between(1, 5));
  options.kind = random.chance(1, 2) ? LinkKind::memory : LinkKind::message;
  options.shape.slot_bytes = 64;
  options.shape.slots = static_cast<int>(random.between(1, 4));
  options.profile = draw_profile(random, {.ranks = options.ranks, .deaths = deaths});
  return options;
}

}  // namespace

TEST_CASE("messages arrive in order and whole, whatever else goes wrong") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const SimOptions options = drawn(seed, false);
    AllToAll run(options, 20);
    const SimOutcome outcome = run.run();
    CAPTURE(seed, describe(options.profile), name_of(outcome.end));
    REQUIRE(outcome.end == SimOutcome::End::all_done);
    REQUIRE(run.wrong() == 0);
    REQUIRE(run.network().violations() == std::vector<std::string>());
    for (int rank = 0; rank < options.ranks; ++rank)
      for (const auto& receiver : run.rank(rank).receivers) REQUIRE(receiver->done());
  }
}

TEST_CASE("ranks die, and every survivor is told of one that did") {
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const SimOptions options = drawn(seed, true);
    AllToAll run(options, 20);
    const SimOutcome outcome = run.run();
    CAPTURE(seed, describe(options.profile), name_of(outcome.end));
    bool stopped = false;
    for (const auto& pause : options.profile.pauses) stopped |= pause.length == SimPause::forever;
    REQUIRE((outcome.end == SimOutcome::End::all_done || stopped));
    REQUIRE(run.wrong() == 0);
    REQUIRE(run.network().violations() == std::vector<std::string>());
    for (int rank = 0; rank < options.ranks; ++rank) {
      const Failure& failure = run.rank(rank).failure;
      if (failure.code == Code::ok) continue;
      ++failed;
      REQUIRE(failure.code == Code::peer_failed);
      REQUIRE_FALSE(run.network().alive(failure.rank));
    }
  }
  CHECK(failed > 50);
}

TEST_CASE("the same seed gives the same run, another seed another") {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::uint64_t hash[2] = {};
    for (std::uint64_t& one : hash) {
      AllToAll run(drawn(seed, true), 10);
      (void)run.run();
      one = run.network().trace_hash();
    }
    REQUIRE(hash[0] == hash[1]);
    hashes.insert(hash[0]);
  }
  CHECK(hashes.size() == 50);
}

TEST_CASE("every kind of trouble occurs") {
  SimCoverage total;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    AllToAll run(drawn(seed, true), 20);
    (void)run.run();
    total.add(run.network().coverage());
  }
  for (const auto& field : sim_coverage_fields) {
    const bool elsewhere = field.count == &SimCoverage::flips ||
                           field.count == &SimCoverage::announce_busy ||
                           field.count == &SimCoverage::imports_pending ||
                           field.count == &SimCoverage::imports_refused;
    INFO(field.what << ": " << total.*field.count);
    CHECK((total.*field.count > 0 || elsewhere));
  }
}

TEST_CASE("a rank killed at any of its actions leaves nobody waiting") {
  for (const LinkKind kind : {LinkKind::memory, LinkKind::message}) {
    std::uint64_t actions = 1;
    for (std::uint64_t at = 0; at < actions; ++at) {
      SimOptions options{.ranks = 3, .kind = kind, .shape = {64, 2}};
      options.profile.kills = {{1, at}};
      AllToAll run(options, 3);
      const SimOutcome outcome = run.run();
      CAPTURE(at);
      REQUIRE(outcome.end == SimOutcome::End::all_done);
      REQUIRE_FALSE(run.network().alive(1));
      REQUIRE(run.wrong() == 0);
      for (const int rank : {0, 2}) {
        const Failure& failure = run.rank(rank).failure;
        const bool received =
            run.rank(rank).receivers[0]->done() && run.rank(rank).receivers[1]->done() &&
            run.rank(rank).receivers[2]->done() && run.rank(rank).receivers[3]->done();
        REQUIRE((failure.rank == 1 || received));
      }
      if (at == 0) {
        AllToAll healthy({.ranks = 3, .kind = kind, .shape = {64, 2}}, 3);
        REQUIRE(healthy.run().end == SimOutcome::End::all_done);
        actions = healthy.network().actions(1);
      }
    }
    CHECK(actions > 20);
  }
}

TEST_CASE("a flipped bit is seen by its receiver alone") {
  SimOptions options{.ranks = 3, .shape = {64, 2}};
  options.profile.flips = {{.from = 0, .to = 2, .message = 1, .bit = 5}};
  AllToAll run(options, 5);
  REQUIRE(run.run().end == SimOutcome::End::all_done);
  CHECK(run.rank(1).wrong() == 0);
  CHECK(run.rank(2).wrong() == 2);  // once on the pair's link, once on the cast link
  CHECK(run.network().coverage().flips == 2);
}
