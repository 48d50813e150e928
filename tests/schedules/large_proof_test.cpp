// Every schedule is proven for a thousand ranks too. The long form has several batches of pieces,
// the usual one what fits into half a minute: a batch of them is what goes on at once.
#include <catch2/catch_test_macros.hpp>

#include "schedules/checker/checker.hpp"
#include "tests/schedules/proof_support.hpp"

using namespace gyre::schedules;
using namespace gyre::schedules::checker;

namespace {

void prove_all(int size, int slots, std::uint64_t pieces, bool in_place) {
  for (const Schedule& schedule : schedule_table) {
    World world = world_of_pieces(schedule, size, slots, pieces);
    world.in_place = in_place;
    INFO(name_of(schedule, world));
    CHECK(why_not_proven(schedule, world) == "");
  }
}

}  // namespace

TEST_CASE("every schedule is right for about a hundred ranks") {
  for (const int size : to_prove({127, 100, 128}))
    for (const int slots : {1, 2, 8})
      for (const bool in_place : {false, true}) prove_all(size, slots, 2, in_place);
}

TEST_CASE("every schedule is right for 255 and 256 ranks") {
  for (const int size : to_prove({255, 256}))
    for (const int slots : to_prove({2, 1, 8})) prove_all(size, slots, 2, slots != 2);
}

TEST_CASE("every schedule is right for 1000 and 1024 ranks") {
  for (const int size : to_prove({1000, 1024}))
    for (const int slots : to_prove({2, 1, 8})) prove_all(size, slots, 1, slots == 2);
}

TEST_CASE("every schedule is right for large N with several batches of pieces", "[.long]") {
  for (const int slots : {1, 2, 8}) {
    const std::uint64_t pieces = slots == 8 ? 5 : 3;
    for (const int size : {100, 127, 128, 255, 256})
      for (const bool in_place : {false, true}) prove_all(size, slots, pieces, in_place);
    for (const int size : {1000, 1024}) prove_all(size, slots, pieces, slots != 2);
  }
}
