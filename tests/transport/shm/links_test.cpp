// Messages through slots: order, credits, wrap-around, casts; as threads and as processes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>

#include "tests/transport/shm/world.hpp"
#include "transport/shm/links.hpp"

namespace gyre::transport::shm::test {
namespace {

constexpr SlotShape small_shape{128, 3};

std::uint64_t value_of(int from, int to, std::uint64_t message) {
  return message * 1'000'003 + static_cast<std::uint64_t>(from) * 1009 +
         static_cast<std::uint64_t>(to);
}

bool send(ShmEndpoint& endpoint, SendLink& link, std::uint64_t value) {
  std::span<std::byte* const> places;
  const auto has_credit = [&] { return !(places = link.reserve(sizeof value)).empty(); };
  if (!wait_for(endpoint, has_credit)) return false;
  for (std::byte* place : places) std::memcpy(place, &value, sizeof value);
  link.publish(sizeof value);
  return true;
}

bool receive(ShmEndpoint& endpoint, RecvLink& link, std::uint64_t& value) {
  const std::byte* data = nullptr;
  if (!wait_for(endpoint, [&] { return (data = link.peek(sizeof value)) != nullptr; }))
    return false;
  std::memcpy(&value, data, sizeof value);
  link.release();
  return true;
}

/// Everybody sends to everybody, message by message, many laps around the slots.
std::string exchange(ShmEndpoint& endpoint, std::uint64_t messages) {
  const int me = endpoint.rank();
  for (std::uint64_t m = 0; m < messages; ++m) {
    for (int peer = 0; peer < endpoint.size(); ++peer)
      if (peer != me && !send(endpoint, endpoint.to(peer), value_of(me, peer, m)))
        return "cannot send";
    for (int peer = 0; peer < endpoint.size(); ++peer) {
      std::uint64_t value = 0;
      if (peer == me) continue;
      if (!receive(endpoint, endpoint.from(peer), value)) return "cannot receive";
      if (value != value_of(peer, me, m)) return "wrong message";
    }
  }
  return "";
}

std::string exchange_casts(ShmEndpoint& endpoint, std::uint64_t messages, bool slow_reader) {
  const int me = endpoint.rank();
  for (std::uint64_t m = 0; m < messages; ++m) {
    if (!send(endpoint, endpoint.to_all(), value_of(me, 0, m))) return "cannot cast";
    if (slow_reader && me == endpoint.size() - 1 && m % 16 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    for (int peer = 0; peer < endpoint.size(); ++peer) {
      std::uint64_t value = 0;
      if (peer == me) continue;
      if (!receive(endpoint, endpoint.cast_from(peer), value)) return "cannot receive a cast";
      if (value != value_of(peer, 0, m)) return "wrong cast";
    }
  }
  return "";
}

}  // namespace

TEST_CASE("messages arrive in order through few slots, between threads of any number") {
  for (int ranks = 1; ranks <= 9; ++ranks)
    run_threads(ranks, small_shape, [](ShmEndpoint& e) { return exchange(e, 200); });
}

TEST_CASE("messages arrive in order between processes with mappings of their own") {
  for (int ranks : {2, 3, 9})
    run_processes(ranks, small_shape, [](ShmEndpoint& e) { return exchange(e, 200); });
}

TEST_CASE("a cast reaches every peer in order though one of them reads slowly") {
  for (int ranks = 1; ranks <= 9; ++ranks)
    run_threads(ranks, small_shape, [](ShmEndpoint& e) { return exchange_casts(e, 100, true); });
  run_processes(4, small_shape, [](ShmEndpoint& e) { return exchange_casts(e, 100, true); });
}

TEST_CASE("a sender has as many credits as there are slots, and gets one back for each release") {
  World world(2, small_shape);
  SendLink& link = world[0].to(1);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(link.reserve(8).size() == 1);
    CHECK(link.reserve(8)[0] == link.reserve(8)[0]);
    link.publish(8);
  }
  CHECK(link.reserve(8).empty());
  CHECK(link.posted() == 3);
  CHECK(link.released() == 3);
  CHECK(link.bytes_sent() == 24);
  RecvLink& other = world[1].from(0);
  REQUIRE(other.peek(8) != nullptr);
  CHECK(other.peek(8) == other.peek(8));
  CHECK(link.reserve(8).empty());
  other.release();
  CHECK(link.reserve(8).size() == 1);
  CHECK(world[1].from(0).peek(8) != nullptr);
}

TEST_CASE("announced messages move no counter, and those that follow do") {
  World world(2, small_shape);
  SendLink& link = world[0].to_all();
  RecvLink& other = world[1].cast_from(0);
  for (const std::byte value : {std::byte{1}, std::byte{2}}) {
    link.reserve(1)[0][0] = value;
    link.publish_announced(1);
  }
  CHECK(link.bytes_sent() == 2);
  CHECK(other.peek(1) == nullptr);  // nobody has announced them
  REQUIRE(other.peek_announced(1)[0] == std::byte{1});
  CHECK(other.peek_announced(1)[0] == std::byte{1});
  other.release();
  REQUIRE(other.peek_announced(1)[0] == std::byte{2});
  other.release();
  CHECK(other.peek(1) == nullptr);
  link.reserve(1)[0][0] = std::byte{3};
  link.publish(1);
  REQUIRE(other.peek(1) != nullptr);
  CHECK(other.peek(1)[0] == std::byte{3});
  other.release();
  CHECK(other.peek(1) == nullptr);
}

TEST_CASE("a cast waits for the slowest peer and no other") {
  World world(3, small_shape);
  SendLink& link = world[1].to_all();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(link.reserve(1).size() == 1);
    link.publish(1);
  }
  for (int i = 0; i < 3; ++i) {
    REQUIRE(world[0].cast_from(1).peek(1) != nullptr);
    world[0].cast_from(1).release();
  }
  CHECK(world[0].cast_from(1).peek(1) == nullptr);
  CHECK(link.reserve(1).empty());
  REQUIRE(world[2].cast_from(1).peek(1) != nullptr);
  world[2].cast_from(1).release();
  REQUIRE(link.reserve(1).size() == 1);
  link.publish(1);
  CHECK(link.reserve(1).empty());
  CHECK(link.bytes_sent() == 4);
}

TEST_CASE("a single rank casts to nobody without ever running out of credit") {
  World world(1, small_shape);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(world[0].to_all().reserve(1).size() == 1);
    world[0].to_all().publish(1);
  }
}

TEST_CASE("slots do not overlap, whoever they belong to") {
  World world(3, small_shape);
  std::vector<std::byte*> places;
  for (int from = 0; from < 3; ++from)
    for (int to = -1; to < 3; ++to) {
      if (to == from) continue;
      SendLink& link = to < 0 ? world[from].to_all() : world[from].to(to);
      for (int i = 0; i < 3; ++i) {
        places.push_back(link.reserve(0)[0]);
        link.publish(0);
      }
    }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i)
    CHECK(places[i] - places[i - 1] >= static_cast<std::ptrdiff_t>(small_shape.slot_bytes));
}

TEST_CASE("a message of part of a slot moves on each lap, inside its slot, at both ends alike") {
  constexpr SlotShape shape{20 << 10, 2};
  constexpr std::size_t least = SlotMemory<std::byte>::moving_bytes_min;
  // Message bytes, and in how many places of a slot they come to lie.
  constexpr std::pair<std::size_t, std::size_t> cases[] = {
      {1, 1},        {least - 1, 1}, {least, 8},      {least + 1, 4},
      {4 << 10, 4},  {5 << 10, 2},   {(8 << 10) + 1, 1}, {10 << 10, 1},
      {16 << 10, 1}, {20 << 10, 1},
  };
  for (const auto& [bytes, rooms] : cases) {
    CAPTURE(bytes, rooms);
    World world(2, shape);
    SendLink& link = world[0].to(1);
    RecvLink& other = world[1].from(0);
    std::set<std::byte*> places;
    std::byte* begin[2] = {};
    for (std::uint64_t m = 0; m < 40; ++m) {
      std::byte* const place = link.reserve(bytes)[0];
      if (m < 2) begin[m] = place;
      std::byte* const slot = begin[m % 2];
      REQUIRE(place >= slot);
      REQUIRE(place + bytes <= slot + shape.slot_bytes);
      REQUIRE((place - slot) % 64 == 0);
      if (m % 2 == 0) places.insert(place);
      std::memset(place, static_cast<int>(m), bytes);
      link.publish(bytes);
      const std::byte* const data = other.peek(bytes);
      REQUIRE(data != nullptr);
      CHECK(data[0] == static_cast<std::byte>(m));
      CHECK(data[bytes - 1] == static_cast<std::byte>(m));
      other.release();
    }
    CHECK(places.size() == rooms);
  }
}

}  // namespace gyre::transport::shm::test
