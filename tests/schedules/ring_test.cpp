// The ring moves exactly what the bound allows, and what it costs to move more is noticed.
#include "schedules/ring.hpp"

#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "schedules/checker/checker.hpp"

using namespace gyre::schedules;
using namespace gyre::schedules::checker;
using gyre::Collective;

namespace {

World ring_world(int size, std::uint64_t count, int slots) {
  World world;
  world.size = size;
  world.count = count;
  world.slots = slots;
  world.piece_elements = 5;
  return world;
}

/// Goes through the ranks in steps that are no divisor of the size.
std::vector<std::int32_t> stepping_order(int size) {
  int stride = size / 2 + 1;
  while (std::gcd(stride, size) != 1) ++stride;
  std::vector<std::int32_t> order;
  for (int i = 0; i < size; ++i) order.push_back((3 + i * stride) % size);
  return order;
}

}  // namespace

TEST_CASE("the ring sends exactly the bound, to the next rank only, in any ring order") {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    const Schedule* ring = find_schedule(collective, "ring");
    REQUIRE(ring != nullptr);
    for (int size = 2; size <= 17; ++size) {
      for (std::uint64_t extra = 0; extra < static_cast<std::uint64_t>(size); ++extra) {
        if (collective != Collective::all_reduce && extra > 0) continue;
        World world = ring_world(size, 13 * static_cast<std::uint64_t>(size) + extra, 8);
        for (const bool reordered : {false, true}) {
          if (reordered) world.ring_order = stepping_order(size);
          const Report report = check(*ring, world);
          INFO("N " << size << ", count " << world.count << ", reordered " << reordered);
          REQUIRE(report.reason == "");
          CHECK(why_not_ring_bound(*ring, world, report) == "");
        }
      }
    }
  }
}

TEST_CASE("a chunk that is sent twice is noticed, by the checker and by the count of bytes") {
  const Schedule& ring = *find_schedule(Collective::all_reduce, "ring");
  const World world = ring_world(4, 20, 8);
  std::vector<Action> program = program_of(ring, world, 2);
  program.insert(program.begin(), program[0]);
  const Override twice{2, program};
  const Report report = check(ring, world, &twice);
  CHECK_FALSE(report.right());
  INFO(report.reason);
  CHECK(report.reason.find("rank ") != std::string::npos);

  // Even with a next rank that would swallow the second copy, the bytes are too many.
  Report counted = check(ring, world);
  REQUIRE(why_not_ring_bound(ring, world, counted) == "");
  counted.traffic[2].sent += 5;
  CHECK(why_not_ring_bound(ring, world, counted) != "");
}

TEST_CASE("bytes to another than the next rank, or by another way, break the bound") {
  const Schedule& ring = *find_schedule(Collective::all_reduce, "ring");
  const World world = ring_world(5, 23, 2);
  const Report good = check(ring, world);
  Report report = good;
  report.traffic[1].only_peer = Traffic::several;
  CHECK(why_not_ring_bound(ring, world, report) != "");
  report = good;
  report.traffic[1].cast = 1;
  CHECK(why_not_ring_bound(ring, world, report) != "");
  report = good;
  report.traffic[1].sending_stages -= 1;
  CHECK(why_not_ring_bound(ring, world, report) != "");
  const Schedule& direct = *find_schedule(Collective::all_reduce, "two_shot");
  CHECK(why_not_ring_bound(direct, world, check(direct, world)) != "");
}
