// The measurements of the machine: that they measure, and refuse what they can't. Not how fast.
#include "bench/limits.hpp"

#include <sched.h>

#include <atomic>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "bench/kernel_speed.hpp"
#include "bench/kernels_command.hpp"
#include "bench/pinned_team.hpp"

namespace gyre::bench {
namespace {

std::vector<int> cpus_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

TEST_CASE("a pinned team does every round on every thread and times it") {
  const auto cpus = cpus_here();
  std::atomic<std::size_t> calls{0};
  const auto times = run_pinned(cpus, 3, [&](std::size_t, std::size_t) { ++calls; });
  REQUIRE(times.ok());
  CHECK(times->size() == 3);
  CHECK(calls == 3 * cpus.size());
  for (const RoundTimes& round : *times) CHECK(round.seconds >= round.slowest_seconds);
}

TEST_CASE("a CPU that does not exist is refused by name") {
  const std::vector<int> cpus = {CPU_SETSIZE - 1};
  const auto times = run_pinned(cpus, 1, [](std::size_t, std::size_t) {});
  REQUIRE(!times.ok());
  CHECK(times.status().message().find(std::to_string(CPU_SETSIZE - 1)) != std::string::npos);
}

TEST_CASE("the memory limit is the best of its loops") {
  const auto limit = measure_memory_limit(cpus_here(), 1 << 20, 2);
  REQUIRE(limit.ok());
  CHECK(limit->rates.size() >= 6);
  double best = 0;
  for (const MemoryRate& rate : limit->rates) {
    CHECK(rate.gb_per_s > 0);
    best = rate.gb_per_s > best ? rate.gb_per_s : best;
  }
  CHECK(limit->best.gb_per_s == best);
  CHECK(!measure_memory_limit(cpus_here(), 1, 1).ok());
  CHECK(!measure_memory_limit({}, 1 << 20, 1).ok());
}

TEST_CASE("a round trip between two processes is measured, and leaves the CPU mask alone") {
  const auto cpus = cpus_here();
  if (cpus.size() < 2) {
    CHECK(!measure_round_trip_ns(cpus[0], cpus[0]).ok());
    return;
  }
  const auto trip = measure_round_trip_ns(cpus[0], cpus[1]);
  REQUIRE(trip.ok());
  CHECK(*trip > 1);
  CHECK(cpus_here() == cpus);
}

TEST_CASE("kernels are measured in every shape") {
  const auto cpus = cpus_here();
  for (const std::size_t sources : {1u, 2u, 3u}) {
    for (const Between between : {Between::nothing, Between::write_and_read}) {
      const auto speed =
          measure_kernel({DataType::float32, ReduceOp::sum, sources, 2, kernels::Store::streamed},
                         4 << 20, cpus, between);
      REQUIRE(speed.ok());
      CHECK(speed->gb_per_s > 0);
    }
  }
}

TEST_CASE("gyre-bench kernels refuses an unknown flag") {
  const std::string arguments[] = {"--no-such-flag"};
  CHECK(run_kernels(arguments, cpus_here()) == 2);
}

}  // namespace gyre::bench
