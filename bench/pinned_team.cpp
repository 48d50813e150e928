#include "bench/pinned_team.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <string>
#include <thread>

namespace gyre::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Span {
  Clock::time_point start;
  Clock::time_point end;
};

/// 0 or errno's number.
int pin_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu < 0 || cpu >= CPU_SETSIZE) return EINVAL;
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

RoundTimes times_of(std::span<const Span> spans) {
  RoundTimes times;
  Clock::time_point start = spans[0].start;
  Clock::time_point end = spans[0].end;
  for (const Span& span : spans) {
    start = std::min(start, span.start);
    end = std::max(end, span.end);
    times.slowest_seconds = std::max(times.slowest_seconds, seconds_between(span.start, span.end));
  }
  times.seconds = seconds_between(start, end);
  return times;
}

}  // namespace

Result<std::vector<RoundTimes>> run_pinned(
    std::span<const int> cpus, std::size_t rounds,
    const std::function<void(std::size_t thread, std::size_t round)>& work) {
  if (cpus.empty()) return Status(Code::invalid_argument, "no CPU to run on");
  const std::size_t threads = cpus.size();
  std::vector<Span> spans(threads * rounds);  // of round r: from r * threads
  std::vector<int> errors(threads, 0);
  std::barrier together(static_cast<std::ptrdiff_t>(threads));
  const auto run = [&](std::size_t thread) {
    errors[thread] = pin_this_thread(cpus[thread]);
    for (std::size_t round = 0; round < rounds; ++round) {
      together.arrive_and_wait();
      Span& span = spans[round * threads + thread];
      span.start = Clock::now();
      work(thread, round);
      span.end = Clock::now();
    }
  };
  std::vector<std::thread> team;
  for (std::size_t thread = 0; thread < threads; ++thread) team.emplace_back(run, thread);
  for (std::thread& member : team) member.join();
  for (std::size_t thread = 0; thread < threads; ++thread)
    if (errors[thread] != 0)
      return system_error("pinning a thread to CPU " + std::to_string(cpus[thread]),
                          errors[thread]);
  std::vector<RoundTimes> times;
  for (std::size_t round = 0; round < rounds; ++round)
    times.push_back(times_of({spans.data() + round * threads, threads}));
  return times;
}

}  // namespace gyre::bench
