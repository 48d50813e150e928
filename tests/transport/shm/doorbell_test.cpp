// Sleeping: no wake-up is ever lost, in either fence mode, whatever the timing; and more ranks than
// cores make progress.
#include <sys/mman.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "tests/transport/shm/world.hpp"

namespace gyre::transport::shm::test {
namespace {

using std::chrono::steady_clock;

constexpr SlotShape small_shape{64, 2};
constexpr std::int64_t lost_ns = 5'000'000'000;  ///< a sleep this long missed its wake-up

/// Sleeps at once instead of spinning; false when it was not woken.
template <class Ready>
bool sleep_for(ShmEndpoint& endpoint, const Ready& ready) {
  while (true) {
    endpoint.prepare_sleep();
    if (ready()) {
      endpoint.cancel_sleep();
      return true;
    }
    const auto begin = steady_clock::now();
    endpoint.sleep(lost_ns);
    if (steady_clock::now() - begin >= std::chrono::nanoseconds(lost_ns)) return false;
  }
}

void pause_randomly(Dice& dice) {
  const std::uint64_t loops = dice.roll(4) == 0 ? dice.roll(3000) : dice.roll(60);
  for (std::uint64_t i = 0; i < loops; ++i) asm volatile("" ::: "memory");
  if (dice.roll(64) == 0) std::this_thread::yield();
}

/// A token goes around; every rank sleeps for it. Links, then announcements, ring the bells.
std::string pass_token(ShmEndpoint& endpoint, std::uint64_t laps) {
  Dice dice(static_cast<std::uint64_t>(endpoint.rank()) + 11);
  const int size = endpoint.size();
  SendLink& next = endpoint.to((endpoint.rank() + 1) % size);
  RecvLink& previous = endpoint.from((endpoint.rank() + size - 1) % size);
  for (std::uint64_t lap = 0; lap < laps; ++lap) {
    if (endpoint.rank() != 0 || lap != 0) {
      if (!sleep_for(endpoint, [&] { return previous.peek(1) != nullptr; }))
        return "lost a message";
      pause_randomly(dice);
      previous.release();
    }
    if (!sleep_for(endpoint, [&] { return !next.reserve().empty(); })) return "lost a credit";
    pause_randomly(dice);
    next.publish(1);
  }
  return "";
}

std::string announce_asleep(ShmEndpoint& endpoint, std::uint64_t operations) {
  Dice dice(static_cast<std::uint64_t>(endpoint.rank()) + 5);
  for (std::uint64_t s = 1; s <= operations; ++s) {
    pause_randomly(dice);
    if (!sleep_for(endpoint, [&] { return endpoint.announce(s, Announcement{}); }))
      return "lost the room to announce";
    for (int peer = 0; peer < endpoint.size(); ++peer) {
      Announcement announcement;
      if (!sleep_for(endpoint, [&] { return endpoint.announced(peer, s, announcement); }))
        return "lost an announcement";
    }
    endpoint.leave(s);
    for (int peer = 0; peer < endpoint.size(); ++peer)
      if (!sleep_for(endpoint, [&] { return endpoint.has_left(peer, s); })) return "lost a leave";
  }
  return "";
}

std::vector<FenceMode> modes() {
  if (register_fences() == FenceMode::symmetric) return {FenceMode::symmetric};
  return {FenceMode::asymmetric, FenceMode::symmetric};
}

}  // namespace

TEST_CASE("no wake-up is lost between ranks that sleep whenever they wait") {
  for (const FenceMode mode : modes()) {
    run_threads(2, small_shape, mode, [](ShmEndpoint& e) { return pass_token(e, 3000); });
    run_threads(5, small_shape, mode, [](ShmEndpoint& e) { return pass_token(e, 300); });
    run_threads(4, small_shape, mode, [](ShmEndpoint& e) { return announce_asleep(e, 300); });
    run_processes(3, small_shape, mode, [](ShmEndpoint& e) { return pass_token(e, 1000); });
    run_processes(3, small_shape, mode, [](ShmEndpoint& e) { return announce_asleep(e, 300); });
  }
}

TEST_CASE("no wake-up is lost in a long run", "[.long]") {
  for (const FenceMode mode : modes()) {
    run_threads(2, small_shape, mode, [](ShmEndpoint& e) { return pass_token(e, 300'000); });
    run_processes(4, small_shape, mode, [](ShmEndpoint& e) { return announce_asleep(e, 20'000); });
  }
}

TEST_CASE("eight ranks on two cores pass a token around without starving") {
  const auto body = [](ShmEndpoint& endpoint) -> std::string {
    const int size = endpoint.size();
    for (int lap = 0; lap < 200; ++lap) {
      RecvLink& previous = endpoint.from((endpoint.rank() + size - 1) % size);
      if (endpoint.rank() != 0 || lap != 0) {
        if (!wait_for(endpoint, [&] { return previous.peek(1) != nullptr; })) return "starved";
        previous.release();
      }
      SendLink& next = endpoint.to((endpoint.rank() + 1) % size);
      if (!wait_for(endpoint, [&] { return !next.reserve().empty(); })) return "starved";
      next.publish(1);
    }
    return "";
  };
  const auto begin = steady_clock::now();
  run_threads(8, small_shape, body);
  run_processes(8, small_shape, body);
  CHECK(steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("a rank that sleeps is woken by another thread, and a wake before the sleep is kept") {
  World world(1, small_shape);
  std::atomic<bool> flag{false};
  for (int round = 0; round < 200; ++round) {
    flag = false;
    std::thread other([&] {
      Dice dice(static_cast<std::uint64_t>(round));
      pause_randomly(dice);
      flag.store(true, std::memory_order_relaxed);
      world[0].wake();
    });
    CHECK(sleep_for(world[0], [&] { return flag.load(std::memory_order_relaxed); }));
    other.join();
  }
  world[0].prepare_sleep();
  world[0].wake();
  const auto begin = steady_clock::now();
  world[0].sleep(lost_ns);
  CHECK(steady_clock::now() - begin < std::chrono::seconds(4));
}

TEST_CASE("a sleep ends at its timeout when nobody rings, and at once when it is none") {
  World world(2, small_shape);
  const auto begin = steady_clock::now();
  world[0].prepare_sleep();
  world[0].sleep(20'000'000);
  const auto slept = steady_clock::now() - begin;
  CHECK(slept >= std::chrono::milliseconds(19));
  world[0].prepare_sleep();
  world[0].sleep(0);
  world[0].prepare_sleep();
  world[0].sleep(-1);
}

TEST_CASE("a publisher rings only a rank that sleeps") {
  World world(2, small_shape);
  Segment& segment = *world.segment;
  const auto ticket = [&] { return segment.bells()[1].ticket.load(); };
  world[0].to(1).publish(1);
  world[0].leave(1);
  CHECK(ticket() == 0);
  world[1].prepare_sleep();
  world[0].leave(2);
  CHECK(ticket() == 1);
  world[0].leave(3);  // its bit is gone already
  CHECK(ticket() == 1);
  world[1].cancel_sleep();
  world[0].leave(4);
  CHECK(ticket() == 1);
}

// The one part that no model checks: that the kernel and the compiler keep what the fences promise.
TEST_CASE("the asymmetric fence forbids that both sides miss each other's store") {
  if (register_fences() == FenceMode::symmetric) SKIP("no membarrier here, or ThreadSanitizer");
  struct alignas(64) Line {
    std::atomic<int> value{0};
  };
  Line x, y, turn_one, turn_two;
  constexpr int rounds = 20'000;
  std::vector<int> seen(rounds);
  std::thread publisher([&] {
    for (int round = 1; round <= rounds; ++round) {
      turn_one.value.store(round);
      for (int i = 0; turn_two.value.load() < round; ++i)
        if (i % 64 == 63) std::this_thread::yield();
      x.value.store(round, std::memory_order_relaxed);
      HostMemory::publisher_fence();
      seen[static_cast<std::size_t>(round - 1)] = y.value.load(std::memory_order_relaxed);
    }
  });
  int missed = 0;
  std::vector<int> seen_here(rounds);
  for (int round = 1; round <= rounds; ++round) {
    turn_two.value.store(round);
    for (int i = 0; turn_one.value.load() < round; ++i)
      if (i % 64 == 63) std::this_thread::yield();
    y.value.store(round, std::memory_order_relaxed);
    HostMemory::sleeper_fence();
    seen_here[static_cast<std::size_t>(round - 1)] = x.value.load(std::memory_order_relaxed);
  }
  publisher.join();
  for (int round = 1; round <= rounds; ++round) {
    const auto i = static_cast<std::size_t>(round - 1);
    if (seen[i] < round && seen_here[i] < round) ++missed;
  }
  CHECK(missed == 0);
}

}  // namespace gyre::transport::shm::test
