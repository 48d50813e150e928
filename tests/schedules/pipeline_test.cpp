#include "schedules/pipeline.hpp"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <set>
#include <utility>

#include "schedules/halving_doubling.hpp"

using namespace gyre::schedules;

TEST_CASE("every piece takes every action once, in order, and batches follow each other") {
  for (const int slots : {1, 2, 3, 4, 8}) {
    for (std::uint64_t pieces = 1; pieces < 12; ++pieces) {
      for (const std::uint32_t actions : {1u, 2u, 5u}) {
        Plan plan;
        plan.slots = slots;
        std::set<std::pair<std::uint64_t, std::uint32_t>> taken;
        for (std::uint64_t step = 0; step < pieces * actions; ++step) {
          const Turn turn = turn_at(plan, step, pieces, actions);
          REQUIRE(turn.piece < pieces);
          REQUIRE(turn.action < actions);
          CHECK(taken.insert({turn.piece, turn.action}).second);
          if (turn.action > 0) CHECK(taken.contains({turn.piece, turn.action - 1}));
          const std::uint64_t batch_first = turn.piece / depth_of(plan) * depth_of(plan);
          if (batch_first > 0) CHECK(taken.contains({batch_first - 1, actions - 1}));
        }
      }
    }
  }
}

TEST_CASE("pieces cover a range without a gap, and none is longer than allowed") {
  Plan plan;
  for (plan.piece_elements = 1; plan.piece_elements < 9; ++plan.piece_elements) {
    for (std::uint64_t count = 0; count < 30; ++count) {
      std::uint64_t next = 100;
      for (std::uint64_t i = 0; i < piece_count(plan, count); ++i) {
        const Range piece = piece_of(plan, {100, count}, i);
        CHECK(piece.begin == next);
        CHECK(piece.count > 0);
        CHECK(piece.count <= plan.piece_elements);
        next = piece.end();
      }
      CHECK(next == 100 + count);
      CHECK(piece_of(plan, {100, count}, piece_count(plan, count)).count == 0);
    }
  }
}

TEST_CASE("a piece as large as a number can be is one piece") {
  Plan plan;
  plan.piece_elements = std::numeric_limits<std::uint64_t>::max();
  CHECK(piece_count(plan, 10) == 1);
  CHECK(piece_of(plan, {3, 10}, 0).count == 10);
  CHECK(piece_of(plan, {3, 10}, 1).count == 0);
}

TEST_CASE("chunks of all ranks and channels cover the operation, largest first") {
  Plan plan;
  for (plan.size = 1; plan.size < 8; ++plan.size) {
    for (plan.channels = 1; plan.channels < 4; ++plan.channels) {
      for (plan.count = 0; plan.count < 40; ++plan.count) {
        std::uint64_t next = 0;
        for (int i = 0; i < plan.size; ++i) {
          for (plan.channel = 0; plan.channel < plan.channels; ++plan.channel) {
            CHECK(chunk(plan, i).begin == next);
            CHECK(chunk(plan, i).count <= chunk(plan, 0).count);
            next = chunk(plan, i).end();
          }
        }
        CHECK(next == plan.count);
      }
    }
  }
}

TEST_CASE("schedules are constant expressions") {
  constexpr Plan plan = [] {
    Plan result;
    result.size = 6;
    result.rank = 3;
    result.count = 100;
    result.piece_elements = 16;
    return result;
  }();
  static_assert(halving_doubling::position_of(plan).folded);
  static_assert(halving_doubling::action(plan, 0).destination[0].peer == 2);
  CHECK(halving_doubling::steps(plan) == 14);
}
