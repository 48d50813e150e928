// Every schedule is proven for every N from 1 to 64; large_proof_test.cpp goes on from there.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <vector>

#include "schedules/checker/checker.hpp"
#include "tests/schedules/proof_support.hpp"

using namespace gyre::schedules;
using namespace gyre::schedules::checker;
using gyre::Collective;

namespace {

void prove(const Schedule& schedule, const World& world) {
  const std::string reason = why_not_proven(schedule, world);
  if (reason.empty()) return;  // an assertion for each of ten thousand worlds would take longest
  INFO(name_of(schedule, world));
  CHECK(reason == "");
}

bool wants_multiple(const Schedule& schedule) {
  return schedule.collective == Collective::reduce_scatter ||
         schedule.collective == Collective::all_gather;
}

}  // namespace

TEST_CASE("every schedule is right for every N from 1 to 64, with 1, 2 and 8 slots") {
  for (const Schedule& schedule : schedule_table) {
    for (int size = 1; size <= 64; size += thinned && size > 8 ? 11 : 1) {
      for (const int slots : {1, 2, 8}) {
        for (const bool in_place : {false, true}) {
          // Three batches where a batch is one piece; one and a bit where it is four.
          World world = world_of_pieces(schedule, size, slots, slots == 8 ? 5 : 3);
          world.in_place = in_place;
          prove(schedule, world);
          world.count = 0;
          prove(schedule, world);
          if (!wants_multiple(schedule)) {
            world.count = static_cast<std::uint64_t>(size) - 1;
            prove(schedule, world);
          }
        }
      }
    }
  }
}

TEST_CASE("every schedule is right for all small counts, from every root, over two channels") {
  for (const Schedule& schedule : schedule_table) {
    for (int size = 1; size <= 9; ++size) {
      const auto ranks = static_cast<std::uint64_t>(size);
      for (const int slots : {1, 2, 3, 4, 8}) {
        for (std::uint64_t count = 0; count < 3 * ranks + 2; ++count) {
          for (int variant = 0; variant < 4; ++variant) {
            World world;
            world.size = size;
            world.slots = slots;
            world.count = wants_multiple(schedule) ? count * ranks : count;
            world.piece_elements = 2;
            world.in_place = variant % 2 == 1;
            world.channels = 1 + variant / 2;
            world.root = static_cast<int>(count % ranks);
            prove(schedule, world);
          }
        }
      }
    }
  }
}

TEST_CASE("a ring is right whatever the order of its ranks") {
  for (const Schedule& schedule : schedule_table) {
    if (schedule.algorithm != "ring") continue;
    for (int size = 2; size <= 5; ++size) {
      for (const int slots : {1, 2, 8}) {
        World world = world_of_pieces(schedule, size, slots, 3);
        world.ring_order.resize(static_cast<std::size_t>(size));
        std::iota(world.ring_order.begin(), world.ring_order.end(), 0);
        do {
          prove(schedule, world);
        } while (std::next_permutation(world.ring_order.begin(), world.ring_order.end()));
      }
    }
  }
}

TEST_CASE(
    "halving-doubling reduces every element by the one binary tree when N is a power of two") {
  const Schedule& schedule = *find_schedule(Collective::all_reduce, "halving_doubling");
  for (int size = 2; size <= 64; ++size) {
    const Report report = check(schedule, world_of_pieces(schedule, size, 2, 2));
    REQUIRE(report.right());
    INFO("N " << size);
    if ((size & (size - 1)) == 0) CHECK(report.fixed_tree);
  }
  const Schedule& ring = *find_schedule(Collective::all_reduce, "ring");
  CHECK_FALSE(check(ring, world_of_pieces(ring, 4, 2, 2)).fixed_tree);
}
