// Failure: one reason for all, given once; it ends every wait; and a peer that writes nonsense into
// the segment is named and can't make this rank touch what it should not.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "tests/transport/shm/world.hpp"

namespace gyre::transport::shm::test {
namespace {

constexpr SlotShape small_shape{64, 2};
constexpr std::size_t payload = Announcement::payload_bytes_max;

Failure mismatch_by(int rank, std::uint64_t sequence) {
  Failure failure;
  failure.code = Code::mismatch;
  failure.rank = rank;
  failure.sequence = sequence;
  for (std::uint64_t i = 0; i < 4; ++i) failure.header[i / 2][i % 2] = sequence + i;
  return failure;
}

void check_internal(const ShmEndpoint& endpoint, int rank) {
  REQUIRE(endpoint.aborted());
  CHECK(endpoint.failure().code == Code::internal);
  CHECK(endpoint.failure().rank == rank);
  CHECK(endpoint.failure().reporter == endpoint.rank());
}

}  // namespace

TEST_CASE("the first failure wins and everybody reads all of it") {
  World world(3, small_shape);
  CHECK_FALSE(world[0].aborted());
  CHECK(world[0].failure().code == Code::ok);
  world[2].abort(mismatch_by(1, 77));
  world[0].abort(mismatch_by(0, 99));
  for (int rank = 0; rank < 3; ++rank) {
    const Failure failure = world[rank].failure();
    CHECK(world[rank].aborted());
    CHECK(failure.code == Code::mismatch);
    CHECK(failure.rank == 1);
    CHECK(failure.reporter == 2);
    CHECK(failure.sequence == 77);
    CHECK(failure.header[1][1] == 80);
  }
}

TEST_CASE("when many threads of many ranks fail at once, one whole reason is left") {
  for (int round = 0; round < 30; ++round) {
    World world(6, small_shape);
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    std::vector<Failure> seen(12);
    for (int i = 0; i < 12; ++i)
      threads.emplace_back([&, i] {
        while (!go) std::this_thread::yield();
        ShmEndpoint& endpoint = world[i / 2];
        endpoint.abort(mismatch_by(i, static_cast<std::uint64_t>(i) * 10));
        seen[static_cast<std::size_t>(i)] = endpoint.failure();
      });
    go = true;
    for (std::thread& thread : threads) thread.join();
    for (const Failure& failure : seen) {
      REQUIRE(failure.code == Code::mismatch);
      CHECK(failure.rank == seen[0].rank);
      CHECK(failure.reporter == failure.rank / 2);
      CHECK(failure.sequence == static_cast<std::uint64_t>(failure.rank) * 10);
      CHECK(failure.header[0][1] == failure.sequence + 1);
    }
  }
}

TEST_CASE("an abort wakes every rank that sleeps") {
  const auto body = [](ShmEndpoint& endpoint) -> std::string {
    if (endpoint.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      endpoint.abort({Code::aborted, 0});
      return "";
    }
    const auto begin = std::chrono::steady_clock::now();
    while (!endpoint.aborted()) {
      endpoint.prepare_sleep();
      if (!endpoint.aborted()) endpoint.sleep(8'000'000'000);
      endpoint.cancel_sleep();
    }
    const bool quick = std::chrono::steady_clock::now() - begin < std::chrono::seconds(6);
    return quick && endpoint.failure().code == Code::aborted ? "" : "not woken by the abort";
  };
  run_threads(8, small_shape, body);
  run_processes(8, small_shape, body);
}

TEST_CASE("codes and ranks outside their range never come out of the failure word") {
  for (std::uint64_t packed : {std::uint64_t{0xff}, ~std::uint64_t{0}, std::uint64_t{1} << 40,
                               std::uint64_t{11}, std::uint64_t{0x00ffffff00000004}}) {
    const Failure failure = unpack_failure(packed, 4);
    CHECK(name_of(failure.code) != "");
    CHECK(failure.code != Code::ok);
    CHECK(failure.rank >= -1);
    CHECK(failure.rank < ranks_max);
    CHECK(failure.reporter >= -1);
    CHECK(failure.reporter < 4);
  }
  for (int rank : {-1, 0, 3, ranks_max - 1}) {
    const Failure failure = unpack_failure(pack_failure(Code::peer_failed, rank, 3), 4);
    CHECK(failure.code == Code::peer_failed);
    CHECK(failure.rank == rank);
    CHECK(failure.reporter == 3);
  }
  CHECK(pack_failure(Code::ok, -1, -1) != 0);
}

TEST_CASE("a sender whose published counter runs ahead of its slots is named") {
  World world(3, small_shape);
  world.segment->published(2, 1).set(3);
  CHECK(world[2].from(1).peek(8) == nullptr);
  check_internal(world[2], 1);
}

TEST_CASE("a published counter that goes backwards is named") {
  World world(2, small_shape);
  world[0].to(1).publish(1);
  REQUIRE(world[1].from(0).peek(1) != nullptr);
  world[1].from(0).release();
  world.segment->published(1, 0).set(0);
  CHECK(world[1].from(0).peek(1) == nullptr);
  check_internal(world[1], 0);
}

TEST_CASE("a receiver that has consumed more than was sent is named") {
  World world(2, small_shape);
  for (int i = 0; i < 2; ++i) world[0].to(1).publish(1);
  world.segment->consumed(0, 1).set(3);
  CHECK(world[0].to(1).reserve(1).empty());
  check_internal(world[0], 1);
}

TEST_CASE("a reader of a cast that has consumed more than was sent is named") {
  World world(4, small_shape);
  for (int i = 0; i < 2; ++i) world[1].to_all().publish(1);
  for (int peer : {0, 2}) world.segment->cast_consumed(1, peer).set(1);
  world.segment->cast_consumed(1, 3).set(9);
  CHECK(world[1].to_all().reserve(1).empty());
  check_internal(world[1], 3);
}

TEST_CASE("an announcement from beyond the ring is named by those who read or wait for it") {
  Announcement announcement;
  {
    World world(2, small_shape);
    world.segment->rings()[1][1].sequence.store(17);
    CHECK_FALSE(world[0].announced(1, 1, announcement, payload));
    check_internal(world[0], 1);
  }
  {
    World world(2, small_shape);
    for (std::uint64_t s = 1; s <= 16; ++s) REQUIRE(world[0].announce(s, announcement, payload));
    world.segment->rings()[1][2].sequence.store(std::uint64_t{1} << 60);
    CHECK_FALSE(world[0].announce(17, announcement, payload));
    check_internal(world[0], 1);
  }
}

TEST_CASE("a peer that scribbles over all counters never sends this rank outside the slots") {
  constexpr int ranks = 3;
  std::set<Code> codes;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Dice dice(seed);
    World world(ranks, small_shape);
    const SegmentLayout& layout = world.segment->layout();
    std::byte* base = reinterpret_cast<std::byte*>(&world.segment->sleepers()) - layout.sleepers;
    ShmEndpoint& me = world[0];
    for (int step = 0; step < 50; ++step) {
      // Any word of the control area except the header, and values near what is plausible too.
      const std::uint64_t words = (layout.control_bytes - layout.sleepers) / 8;
      const std::uint64_t value = dice.roll(2) ? dice.roll(8) : ~dice.roll(1000);
      std::memcpy(base + layout.sleepers + dice.roll(words) * 8, &value, sizeof value);
      for (int peer = 1; peer < ranks; ++peer) {
        const std::byte* slots = world.segment->pair_slots(0, peer);
        if (const std::byte* data = me.from(peer).peek(1)) {
          REQUIRE(data >= slots);
          REQUIRE(data < slots + SegmentLayout::bytes_of(layout.pair));
          me.from(peer).release();
        }
        if (const auto places = me.to(peer).reserve(1); !places.empty()) {
          REQUIRE(places[0] >= world.segment->pair_slots(peer, 0));
          REQUIRE(places[0] < world.segment->pair_slots(peer, 0) + 2 * layout.pair.slot_bytes);
          me.to(peer).publish(1);
        }
        if (me.cast_from(peer).peek(1) != nullptr) me.cast_from(peer).release();
        Announcement announcement;
        me.announced(peer, dice.roll(40), announcement, payload);
        me.has_left(peer, dice.roll(40));
        me.last_announced(peer);
      }
      if (!me.to_all().reserve(1).empty()) me.to_all().publish(1);
      me.prepare_sleep();
      me.sleep(1000);
      codes.insert(me.failure().code);
    }
  }
  CHECK(codes.count(Code::internal) == 1);
}

}  // namespace gyre::transport::shm::test
