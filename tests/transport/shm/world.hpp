// N ranks over one segment, for tests: as threads they share one mapping, which ThreadSanitizer
// needs; as processes each child attaches a mapping of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transport/shm/endpoint.hpp"

namespace gyre::transport::shm::test {

/// xorshift64*: all that a test's delays and sizes need; the seed is in the test's name or output.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t roll(std::uint64_t sides) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545f4914f6cdd1d >> 33) % sides;
  }

 private:
  std::uint64_t state_;
};

inline SegmentLayout layout_of(int ranks, SlotShape shape) {
  Result<SegmentLayout> layout = SegmentLayout::make(ranks, shape, shape);
  REQUIRE(layout);
  return *layout;
}

inline std::shared_ptr<Segment> make_segment(int ranks, SlotShape shape,
                                             FenceMode mode = register_fences()) {
  Result<std::shared_ptr<Segment>> segment = Segment::create(layout_of(ranks, shape), mode);
  REQUIRE(segment);
  return *segment;
}

inline std::unique_ptr<ShmEndpoint> make_endpoint(std::shared_ptr<Segment> segment, int rank,
                                                  MemoryImporter* importer = nullptr) {
  Result<std::unique_ptr<ShmEndpoint>> endpoint =
      ShmEndpoint::create(std::move(segment), rank, importer);
  REQUIRE(endpoint);
  return std::move(*endpoint);
}

/// All ranks of one process, driven by hand.
struct World {
  World(int ranks, SlotShape shape, FenceMode mode = register_fences())
      : segment(make_segment(ranks, shape, mode)) {
    for (int rank = 0; rank < ranks; ++rank) endpoints.push_back(make_endpoint(segment, rank));
  }
  ShmEndpoint& operator[](int rank) { return *endpoints[static_cast<std::size_t>(rank)]; }

  std::shared_ptr<Segment> segment;
  std::vector<std::unique_ptr<ShmEndpoint>> endpoints;
};

/// What a rank does; returns what is wrong, or "". Catch2's macros stay in the main thread.
using Body = std::function<std::string(ShmEndpoint&)>;

inline void run_threads(int ranks, SlotShape shape, FenceMode mode, const Body& body) {
  World world(ranks, shape, mode);
  std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { wrong[static_cast<std::size_t>(rank)] = body(world[rank]); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) CHECK(text == "");
}

/// Rank 0 is this process, the others are children with a mapping of their own.
inline void run_processes(int ranks, SlotShape shape, FenceMode mode, const Body& body) {
  const SegmentLayout layout = layout_of(ranks, shape);
  Result<std::shared_ptr<Segment>> segment = Segment::create(layout, mode);
  REQUIRE(segment);
  std::vector<pid_t> children;
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      register_fences();  // each process for itself
      Result<std::shared_ptr<Segment>> own = Segment::attach((*segment)->fd(), layout, mode);
      if (!own) _exit(2);
      Result<std::unique_ptr<ShmEndpoint>> endpoint = ShmEndpoint::create(*own, rank, nullptr);
      _exit(endpoint && body(**endpoint).empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  std::unique_ptr<ShmEndpoint> endpoint = make_endpoint(*segment, 0);
  CHECK(body(*endpoint) == "");
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

inline void run_threads(int ranks, SlotShape shape, const Body& body) {
  run_threads(ranks, shape, register_fences(), body);
}
inline void run_processes(int ranks, SlotShape shape, const Body& body) {
  run_processes(ranks, shape, register_fences(), body);
}

/// Waits as a rank does: looks, then spins, yields, and sleeps. False after 20 s or an abort.
template <class Ready>
bool wait_for(ShmEndpoint& endpoint, const Ready& ready, int spins = 64) {
  constexpr int sleeps_max = 200;
  for (int i = 0; i < spins; ++i) {
    if (ready()) return true;
    if (i % 16 == 15) std::this_thread::yield();
  }
  for (int i = 0; i < sleeps_max; ++i) {
    endpoint.prepare_sleep();
    if (ready()) {
      endpoint.cancel_sleep();
      return true;
    }
    if (endpoint.aborted()) {
      endpoint.cancel_sleep();
      return false;
    }
    endpoint.sleep(100'000'000);
    if (ready()) return true;
  }
  return false;
}

}  // namespace gyre::transport::shm::test
