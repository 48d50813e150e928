// Announcements: what every rank says before each operation, and how far it may run ahead.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "tests/transport/shm/world.hpp"

namespace gyre::transport::shm::test {
namespace {

constexpr SlotShape small_shape{64, 1};
constexpr std::size_t payload = Announcement::payload_bytes_max;

Announcement announcement_of(int rank, std::uint64_t sequence) {
  Announcement announcement;
  announcement.header[0] = sequence * 100 + static_cast<std::uint64_t>(rank);
  announcement.header[1] = ~announcement.header[0];
  for (std::size_t i = 0; i < announcement.payload.size(); ++i)
    announcement.payload[i] = static_cast<std::byte>(announcement.header[0] + i);
  return announcement;
}

bool same(const Announcement& a, const Announcement& b, std::size_t payload_bytes = payload) {
  return a.header[0] == b.header[0] && a.header[1] == b.header[1] &&
         std::equal(a.payload.begin(), a.payload.begin() + payload_bytes, b.payload.begin());
}

std::string announce_many(ShmEndpoint& endpoint, std::uint64_t operations) {
  const int me = endpoint.rank();
  for (std::uint64_t s = 1; s <= operations; ++s) {
    const Announcement mine = announcement_of(me, s);
    const std::size_t bytes = s * 37 % (payload + 1);
    if (!wait_for(endpoint, [&] { return endpoint.announce(s, mine, bytes); }))
      return "cannot announce";
    for (int peer = 0; peer < endpoint.size(); ++peer) {
      Announcement theirs;
      if (peer == me || (me == 0 && s % 3 == 0)) continue;  // rank 0 does not read all of them
      if (!wait_for(endpoint, [&] { return endpoint.announced(peer, s, theirs, bytes); }))
        return "nothing announced";
      if (!same(theirs, announcement_of(peer, s), bytes)) return "another announcement";
    }
    endpoint.leave(s);
    for (int peer = 0; peer < endpoint.size(); ++peer)
      if (s % 5 == 0 && !wait_for(endpoint, [&] { return endpoint.has_left(peer, s); }))
        return "nobody left";
  }
  return "";
}

}  // namespace

TEST_CASE("every rank reads every other's announcements, many laps around their ring") {
  for (int ranks = 1; ranks <= 9; ++ranks)
    run_threads(ranks, small_shape, [](ShmEndpoint& e) { return announce_many(e, 50); });
  for (int ranks : {2, 5})
    run_processes(ranks, small_shape, [](ShmEndpoint& e) { return announce_many(e, 50); });
}

TEST_CASE("a rank announces 16 operations ahead and no more until the slowest peer has caught up") {
  World world(3, small_shape);
  for (std::uint64_t s = 1; s <= announcements_ahead_max; ++s)
    REQUIRE(world[0].announce(s, announcement_of(0, s), payload));
  CHECK_FALSE(world[0].announce(17, announcement_of(0, 17), payload));
  REQUIRE(world[1].announce(1, announcement_of(1, 1), payload));
  REQUIRE(world[1].announce(2, announcement_of(1, 2), payload));
  CHECK_FALSE(world[0].announce(17, announcement_of(0, 17), payload));
  // Only its second announcement says that rank 2 is done with what everyone announced first.
  REQUIRE(world[2].announce(1, announcement_of(2, 1), payload));
  CHECK_FALSE(world[0].announce(17, announcement_of(0, 17), payload));
  Announcement read;
  REQUIRE(world[2].announced(0, 1, read, payload));
  CHECK(same(read, announcement_of(0, 1)));
  REQUIRE(world[2].announce(2, announcement_of(2, 2), payload));
  CHECK(world[0].announce(17, announcement_of(0, 17), payload));
  CHECK(world[1].last_announced(0) == 17);
  CHECK(world[1].last_announced(2) == 2);
  for (std::uint64_t s = 2; s <= 17; ++s) {
    REQUIRE(world[2].announced(0, s, read, payload));
    CHECK(same(read, announcement_of(0, s)));
  }
  CHECK_FALSE(world[2].announced(0, 18, read, payload));
  CHECK_FALSE(world[0].aborted());
}

TEST_CASE("leaving an operation counts for that one and all before it") {
  World world(2, small_shape);
  CHECK_FALSE(world[1].has_left(0, 1));
  world[0].leave(3);
  CHECK(world[1].has_left(0, 1));
  CHECK(world[1].has_left(0, 3));
  CHECK_FALSE(world[1].has_left(0, 4));
}

TEST_CASE("what a rank notes about itself is what the others see last") {
  World world(2, small_shape);
  CHECK(world[1].noted(0) == 0);
  world[0].note(3);
  world[0].note(5);
  CHECK(world[1].noted(0) == 5);
  CHECK(world[0].noted(1) == 0);
}

TEST_CASE("an orderly departure is told from a death") {
  World world(2, small_shape);
  CHECK_FALSE(world[1].has_departed(0));
  world[0].depart();
  CHECK(world[1].has_departed(0));
  CHECK_FALSE(world[0].has_departed(1));
}

}  // namespace gyre::transport::shm::test
