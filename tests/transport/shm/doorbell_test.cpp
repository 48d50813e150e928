// Sleeping: no wake-up is ever lost, in either fence mode, whatever the timing; and more ranks than
// cores make progress.
#include <sched.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "tests/transport/shm/world.hpp"

namespace gyre::transport::shm::test {
namespace {

using std::chrono::steady_clock;

constexpr SlotShape small_shape{64, 2};
constexpr std::size_t payload = Announcement::payload_bytes_max;
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
    if (!sleep_for(endpoint, [&] { return !next.reserve(1).empty(); })) return "lost a credit";
    pause_randomly(dice);
    next.publish(1);
  }
  return "";
}

std::string announce_asleep(ShmEndpoint& endpoint, std::uint64_t operations) {
  Dice dice(static_cast<std::uint64_t>(endpoint.rank()) + 5);
  for (std::uint64_t s = 1; s <= operations; ++s) {
    pause_randomly(dice);
    if (!sleep_for(endpoint, [&] { return endpoint.announce(s, Announcement{}, payload); }))
      return "lost the room to announce";
    for (int peer = 0; peer < endpoint.size(); ++peer) {
      Announcement announcement;
      if (!sleep_for(endpoint, [&] { return endpoint.announced(peer, s, announcement, payload); }))
        return "lost an announcement";
    }
    endpoint.leave(s);
    for (int peer = 0; peer < endpoint.size(); ++peer)
      if (!sleep_for(endpoint, [&] { return endpoint.has_left(peer, s); })) return "lost a leave";
  }
  return "";
}

std::vector<std::size_t> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<std::size_t> cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

void pin_to(std::size_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

std::vector<FenceMode> modes() {
  if (register_fences() == FenceMode::symmetric) return {FenceMode::symmetric};
  return {FenceMode::asymmetric, FenceMode::symmetric};
}

}  // namespace

TEST_CASE("no wake-up is lost between ranks that sleep whenever they wait") {
  for (const FenceMode mode : modes()) {
    run_threads(2, small_shape, mode, [](ShmEndpoint& e) { return pass_token(e, 1000); });
    run_threads(5, small_shape, mode, [](ShmEndpoint& e) { return pass_token(e, 100); });
    run_threads(4, small_shape, mode, [](ShmEndpoint& e) { return announce_asleep(e, 100); });
    run_processes(3, small_shape, mode, [](ShmEndpoint& e) { return pass_token(e, 1000); });
    run_processes(3, small_shape, mode, [](ShmEndpoint& e) { return announce_asleep(e, 100); });
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
    for (int lap = 0; lap < 60; ++lap) {
      RecvLink& previous = endpoint.from((endpoint.rank() + size - 1) % size);
      if (endpoint.rank() != 0 || lap != 0) {
        if (!wait_for(endpoint, [&] { return previous.peek(1) != nullptr; })) return "starved";
        previous.release();
      }
      SendLink& next = endpoint.to((endpoint.rank() + 1) % size);
      if (!wait_for(endpoint, [&] { return !next.reserve(1).empty(); })) return "starved";
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
  for (int round = 0; round < 60; ++round) {
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
// Without sleeper_fence() about one round in a hundred fails.
TEST_CASE("the asymmetric fence forbids that both sides miss each other's store") {
  if (register_fences() == FenceMode::symmetric) SKIP("no membarrier here, or ThreadSanitizer");
  const std::vector<std::size_t> cpus = allowed_cpus();
  if (cpus.size() < 2) SKIP("needs two CPUs");
  struct alignas(64) Line {
    std::atomic<int> value{0};
  };
  constexpr int rounds = 30'000;
  Line arrived[2], stored[2];
  std::vector<int> seen[2] = {std::vector<int>(rounds), std::vector<int>(rounds)};
  const auto side = [&](std::size_t me) {
    pin_to(cpus[me]);  // else both often share one CPU, where nothing can go wrong
    Dice dice(me + 1);
    for (int round = 1; round <= rounds; ++round) {
      arrived[me].value.store(round);
      for (int i = 0; arrived[1 - me].value.load() < round; ++i)
        if (i % 1024 == 1023) std::this_thread::yield();
      // The one who came last starts earlier; a random pause makes both start together at times.
      const std::uint64_t pause = dice.roll(300);
      for (std::uint64_t i = 0; i < pause; ++i) asm volatile("" ::: "memory");
      stored[me].value.store(round, std::memory_order_relaxed);
      if (me == 0)
        HostMemory::publisher_fence();
      else
        HostMemory::sleeper_fence();
      seen[me][static_cast<std::size_t>(round - 1)] =
          stored[1 - me].value.load(std::memory_order_relaxed);
    }
  };
  std::thread publisher([&] { side(0); });
  std::thread sleeper([&] { side(1); });
  publisher.join();
  sleeper.join();
  int missed = 0;
  for (int round = 1; round <= rounds; ++round) {
    const auto i = static_cast<std::size_t>(round - 1);
    if (seen[0][i] < round && seen[1][i] < round) ++missed;
  }
  CHECK(missed == 0);
}

}  // namespace gyre::transport::shm::test
