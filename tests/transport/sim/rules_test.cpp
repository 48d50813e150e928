// One test per promise of endpoint.hpp and link.hpp that the simulated transport keeps or enforces.
#include <catch2/catch_test_macros.hpp>

#include "tests/transport/sim/streams.hpp"

using namespace gyre::transport;
using gyre::Code;
using gyre::Nanoseconds;

namespace {

constexpr Nanoseconds long_enough = 1'000'000'000;
constexpr std::size_t payload = Announcement::payload_bytes_max;

SimOptions options_of(LinkKind kind, int ranks = 2) {
  return {.ranks = ranks, .kind = kind, .shape = {64, 2}};
}

void pass_time(SimNetwork& network) {
  network.advance(network.now() + long_enough);
  for (int rank = 0; rank < network.ranks(); ++rank) (void)network.endpoint(rank).pump();
}

void send(SendLink& link, std::byte value, std::size_t bytes = 1) {
  const auto places = link.reserve(bytes);
  REQUIRE_FALSE(places.empty());
  for (std::byte* place : places) std::fill_n(place, bytes, value);
  link.publish(bytes);
}

bool reports(SimNetwork& network, std::string_view part) {
  for (const auto& violation : network.violations())
    if (violation.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a message is seen some time after it was published, not at once") {
  for (const LinkKind kind : {LinkKind::memory, LinkKind::message}) {
    SimNetwork network(options_of(kind));
    send(network.endpoint(0).to(1), std::byte{7});
    CHECK(network.endpoint(1).from(0).peek(1) == nullptr);
    pass_time(network);
    const std::byte* data = network.endpoint(1).from(0).peek(1);
    REQUIRE(data);
    CHECK(*data == std::byte{7});
  }
}

TEST_CASE("message links move only when pumped") {
  SimNetwork network(options_of(LinkKind::message));
  send(network.endpoint(0).to(1), std::byte{7});
  network.advance(long_enough);
  CHECK(network.endpoint(1).from(0).peek(1) == nullptr);
  CHECK(network.endpoint(0).to(1).released() == 0);
  CHECK(network.endpoint(1).pump());
  CHECK_FALSE(network.endpoint(1).pump());
  CHECK(network.endpoint(1).from(0).peek(1) != nullptr);
  CHECK(network.endpoint(0).pump());
  CHECK(network.endpoint(0).to(1).released() == 1);
}

TEST_CASE("a sender has as many credits as there are slots") {
  for (const LinkKind kind : {LinkKind::memory, LinkKind::message}) {
    SimNetwork network(options_of(kind));
    SendLink& link = network.endpoint(0).to(1);
    send(link, std::byte{1});
    send(link, std::byte{2});
    CHECK(link.reserve(1).empty());
    pass_time(network);
    CHECK(link.reserve(1).empty());
    network.endpoint(1).from(0).release();
    CHECK(link.reserve(1).empty());
    pass_time(network);
    CHECK(link.reserve(1).size() == 1);
    CHECK(network.violations().empty());
  }
}

TEST_CASE("a cast link waits for its slowest reader") {
  for (const bool to_each : {false, true}) {
    SimOptions options = options_of(LinkKind::memory, 3);
    options.profile.cast_to_each = to_each;
    SimNetwork network(options);
    SendLink& link = network.endpoint(0).to_all();
    send(link, std::byte{1});
    send(link, std::byte{2});
    CHECK(link.bytes_sent() == (to_each ? 4u : 2u));
    pass_time(network);
    network.endpoint(1).cast_from(0).release();
    pass_time(network);
    CHECK(link.reserve(1).empty());
    network.endpoint(2).cast_from(0).release();
    pass_time(network);
    CHECK(link.reserve(1).size() == (to_each ? 2u : 1u));
  }
}

TEST_CASE("a receive in place lands there, if it was wished for in time and granted") {
  SimOptions options = options_of(LinkKind::message);
  options.profile.in_place_percent = 100;
  SimNetwork network(options);
  RecvLink& link = network.endpoint(1).from(0);
  std::byte into[2] = {};
  link.place(into, 1);
  send(network.endpoint(0).to(1), std::byte{7});
  send(network.endpoint(0).to(1), std::byte{8});
  pass_time(network);
  CHECK(link.peek(1) == into);
  CHECK(into[0] == std::byte{7});
  link.release();
  link.place(into, 1);  // too late: it has arrived
  CHECK(link.peek(1) != into);
  CHECK(*link.peek(1) == std::byte{8});
  CHECK(into[0] == std::byte{7});
  CHECK(network.coverage().in_place == 1);

  options.profile.in_place_percent = 0;
  SimNetwork refusing(options);
  refusing.endpoint(1).from(0).place(into, 1);
  send(refusing.endpoint(0).to(1), std::byte{9});
  pass_time(refusing);
  CHECK(refusing.endpoint(1).from(0).peek(1) != into);
  CHECK(*refusing.endpoint(1).from(0).peek(1) == std::byte{9});
}

TEST_CASE("posted memory is released late, and changing it before that is noticed") {
  SimOptions options = options_of(LinkKind::message);
  options.profile.source = {1'000'000, 1'000'000, 0, 0};
  for (const bool early : {false, true}) {
    SimNetwork network(options);
    SendLink& link = network.endpoint(0).to(1);
    std::byte data[8] = {};
    REQUIRE(link.post(data, sizeof data));
    network.advance(500'000);
    (void)network.endpoint(0).pump();
    (void)network.endpoint(1).pump();
    CHECK(network.endpoint(1).from(0).peek(sizeof data) != nullptr);
    CHECK(link.posted() == 1);
    CHECK(link.released() == 0);
    if (early) data[3] = std::byte{1};
    pass_time(network);
    CHECK(link.released() == 1);
    data[4] = std::byte{1};
    pass_time(network);
    CHECK(network.violations().size() == (early ? 1u : 0u));
  }
}

TEST_CASE("slots are overwritten when they change hands") {
  SimNetwork network(options_of(LinkKind::memory));
  SendLink& link = network.endpoint(0).to(1);
  std::byte* const place = link.reserve(4)[0];
  std::fill_n(place, 4, std::byte{7});
  link.publish(4);
  pass_time(network);
  CHECK(place[0] != std::byte{7});
  const std::byte* const data = network.endpoint(1).from(0).peek(4);
  CHECK(data[0] == std::byte{7});
  network.endpoint(1).from(0).release();
  CHECK(data[0] != std::byte{7});
}

TEST_CASE("breaches of the rules are reported") {
  SimOptions options = options_of(LinkKind::memory, 3);
  options.profile.cast_to_each = true;
  SimNetwork network(options);
  Endpoint& zero = network.endpoint(0);
  std::byte data[128] = {};
  zero.to(1).publish(4);
  CHECK(reports(network, "without having reserved"));
  (void)zero.to(1).reserve(4);
  zero.to(1).publish(5);
  CHECK(reports(network, "reserved for another number"));
  CHECK(zero.to(1).reserve(65).empty());
  CHECK(reports(network, "more than a slot holds"));
  CHECK_FALSE(zero.to(1).post(data, 4));
  CHECK(reports(network, "does not take that"));
  network.endpoint(1).from(0).release();
  CHECK(reports(network, "has not got"));
  send(zero.to(1), std::byte{1}, 4);
  pass_time(network);
  (void)network.endpoint(1).from(0).peek(5);
  network.endpoint(1).from(0).release();
  CHECK(reports(network, "for 5 bytes, but it has 4"));
  const auto places = zero.to_all().reserve(1);
  places[0][0] = std::byte{1};
  places[1][0] = std::byte{2};
  zero.to_all().publish(1);
  CHECK(reports(network, "different bytes"));
  (void)zero.announce(2, {}, payload);
  CHECK(reports(network, "announced operation 2 after 0"));
  zero.leave(1);
  zero.leave(1);
  CHECK(reports(network, "left operation 1 after 1"));
  zero.sleep(1);
  CHECK(reports(network, "sleeps unprepared"));
}

TEST_CASE("announcements are seen by all, and stay within their lead") {
  for (const LinkKind kind : {LinkKind::memory, LinkKind::message}) {
    SimNetwork network(options_of(kind, 3));
    Announcement sent = {}, got;
    for (std::uint64_t s = 1; s <= announcements_ahead_max; ++s) {
      sent.header[0] = s;
      sent.payload[payload - 1] = static_cast<std::byte>(s);
      REQUIRE(network.endpoint(0).announce(s, sent, payload));
    }
    CHECK_FALSE(network.endpoint(0).announce(announcements_ahead_max + 1, sent, payload));
    CHECK_FALSE(network.endpoint(1).announced(0, 1, got, payload));
    pass_time(network);
    for (const int peer : {0, 1, 2}) {
      CHECK(network.endpoint(peer).last_announced(0) == announcements_ahead_max);
      REQUIRE(network.endpoint(peer).announced(0, 5, got, payload));
      CHECK(got.header[0] == 5);
      CHECK(got.payload[payload - 1] == std::byte{5});
    }
    REQUIRE(network.endpoint(1).announce(1, sent, payload));
    pass_time(network);
    // Rank 2 is behind.
    CHECK_FALSE(network.endpoint(0).announce(announcements_ahead_max + 1, sent, payload));
    REQUIRE(network.endpoint(2).announce(1, sent, payload));
    pass_time(network);
    CHECK(network.endpoint(0).announce(announcements_ahead_max + 1, sent, payload));
    CHECK(network.violations().empty());
  }
}

TEST_CASE("leaving is seen by the others later") {
  SimNetwork network(options_of(LinkKind::memory));
  network.endpoint(0).leave(3);
  CHECK(network.endpoint(0).has_left(0, 3));
  CHECK_FALSE(network.endpoint(1).has_left(0, 3));
  pass_time(network);
  CHECK(network.endpoint(1).has_left(0, 2));
  CHECK(network.endpoint(1).has_left(0, 3));
  CHECK_FALSE(network.endpoint(1).has_left(0, 4));
}

TEST_CASE("what a rank notes is seen by all until it stops") {
  SimOptions options = options_of(LinkKind::memory);
  options.profile.pauses = {{.rank = 0, .at_action = 0}};
  SimNetwork network(options);
  network.endpoint(0).note(7);
  CHECK(network.endpoint(1).noted(0) == 7);
  network.endpoint(0).leave(1);
  network.endpoint(0).note(8);
  CHECK(network.endpoint(1).noted(0) == 7);
  network.endpoint(1).note(5);
  network.endpoint(1).note(4);
  CHECK(reports(network, "a note fell"));
}

TEST_CASE("mapping takes time, and only what exists can be mapped") {
  SimNetwork network(options_of(LinkKind::memory));
  const auto segment = network.memory().allocate(1, 1000);
  const MappedRef ref = network.memory().find(1, segment.data() + 100, 900);
  CHECK(ref.segment != 0);
  CHECK(ref.offset == 100);
  CHECK(network.memory().find(1, segment.data() + 100, 901).segment == 0);
  CHECK(network.memory().find(0, segment.data(), 1).segment == 0);
  Endpoint& zero = network.endpoint(0);
  CHECK(zero.map(1, ref, 900).state == Mapping::State::pending);
  pass_time(network);
  const Mapping mapping = zero.map(1, ref, 900);
  CHECK(mapping.state == Mapping::State::ready);
  CHECK(mapping.data == segment.data() + 100);
  CHECK(zero.map(1, ref, 901).state == Mapping::State::refused);
  CHECK(zero.map(1, {ref.segment, ref.generation, ~std::uint64_t{0}}, 2).state ==
        Mapping::State::refused);
  CHECK(zero.map(1, {0, 0, 0}, 1).state == Mapping::State::refused);
  CHECK(zero.map(1, {9, 1, 0}, 1).state == Mapping::State::refused);
  CHECK(zero.map(0, ref, 1).state == Mapping::State::refused);
  network.memory().free(1, segment.data());
  CHECK(zero.map(1, ref, 900).state == Mapping::State::refused);
  const auto again = network.memory().allocate(1, 1000);
  const MappedRef other = network.memory().find(1, again.data(), 1000);
  CHECK(other.segment == ref.segment);
  CHECK(other.generation != ref.generation);
  CHECK(zero.map(1, ref, 1).state == Mapping::State::refused);
}

TEST_CASE("the first reason for an abort wins on every rank") {
  SimNetwork network(options_of(LinkKind::memory, 3));
  CHECK_FALSE(network.endpoint(2).aborted());
  CHECK(network.endpoint(2).failure().code == Code::ok);
  network.endpoint(0).abort({.code = Code::aborted, .rank = 0});
  CHECK(network.endpoint(0).aborted());
  CHECK_FALSE(network.endpoint(1).aborted());
  network.endpoint(1).abort({.code = Code::timeout, .rank = 2});
  CHECK(network.endpoint(1).aborted());
  pass_time(network);
  for (const int rank : {0, 1, 2}) {
    CHECK(network.endpoint(rank).aborted());
    CHECK(network.endpoint(rank).failure().code == Code::aborted);
    CHECK(network.endpoint(rank).failure().rank == 0);
  }
}

TEST_CASE("after a failure nobody's memory is touched any more") {
  SimOptions options = options_of(LinkKind::message);
  options.profile.in_place_percent = 100;
  options.profile.abort_notice = {long_enough, long_enough, 0, 0};
  for (const int aborting : {0, 1}) {
    SimNetwork network(options);
    std::byte into[8] = {};
    std::byte data[8] = {};
    std::fill_n(data, sizeof data, std::byte{9});
    network.endpoint(1).from(0).place(into, sizeof into);
    REQUIRE(network.endpoint(0).to(1).post(data, sizeof data));
    network.endpoint(aborting).abort({.code = Code::aborted, .rank = aborting});
    if (aborting == 0) data[0] = std::byte{1};
    network.advance(long_enough / 2);
    (void)network.endpoint(1).pump();
    CHECK(into[0] == std::byte{0});
    CHECK(network.violations().empty());
  }
}

TEST_CASE("a doorbell rung between the last look and the sleep is not lost") {
  SimNetwork network(options_of(LinkKind::memory));
  Endpoint& one = network.endpoint(1);
  one.prepare_sleep();
  one.sleep(1'000);
  CHECK(network.sleeps(1));
  network.advance(network.now() + 1'000);
  CHECK_FALSE(network.sleeps(1));
  one.cancel_sleep();

  one.prepare_sleep();
  send(network.endpoint(0).to(1), std::byte{1});
  network.advance(network.now() + 10'000);
  one.sleep(long_enough);
  CHECK_FALSE(network.sleeps(1));

  one.prepare_sleep();
  one.sleep(long_enough);
  CHECK(network.sleeps(1));
  one.wake();
  CHECK_FALSE(network.sleeps(1));
}
