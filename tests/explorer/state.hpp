// What the explorer knows at one moment: all values of all words, and each thread's view of them.
// Plain data of a fixed size, so that branching is a copy and comparing is a hash.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/explorer/explorer.hpp"

namespace gyre::explorer {

inline constexpr std::size_t threads_max = 3;
inline constexpr std::size_t words_max = 24;
inline constexpr std::size_t writes_max = 16;
inline constexpr std::size_t answers_max = 120;

/// For each word the index of the oldest write that may be read; for each thread how many of its
/// ordered accesses happened before.
struct View {
  std::array<std::uint8_t, words_max> write{};
  std::array<std::uint8_t, threads_max> clock{};

  void join_writes(const View& other) {
    for (std::size_t i = 0; i < words_max; ++i) write[i] = std::max(write[i], other.write[i]);
  }
  void join(const View& other) {
    join_writes(other);
    for (std::size_t i = 0; i < threads_max; ++i) clock[i] = std::max(clock[i], other.clock[i]);
  }
};

struct Write {
  std::uint64_t value = 0;
  View message;  ///< what an acquire that reads this takes over
};

struct WordState {
  std::uint8_t writes = 1;  ///< the first is the initial 0
  std::uint8_t writer = threads_max;
  std::uint8_t written_at = 0;                      ///< the writer's clock; ordered words only
  std::array<std::uint8_t, threads_max> read_at{};  ///< each reader's clock; ordered words only
  std::array<Write, writes_max> history{};
  const Write& latest() const { return history[writes - 1U]; }
};

enum class Status : std::uint8_t {
  runnable,
  polling,  ///< a poll has failed: runs again when a word in `polled` has a newer value
  asleep,   ///< in futex_wait on `next.word`
  finished,
};

struct ThreadState {
  Status status = Status::runnable;
  std::uint8_t answers = 0;
  std::uint32_t polled = 0;  ///< bit per word
  View seen;                 ///< what the failed poll knew
  std::uint64_t outcome = 0;
  std::array<std::uint64_t, answers_max> answer{};
  View view;
  View fenced;  ///< the view at the last barrier: what a sleeper's fence makes visible
  Operation next;
};

struct State {
  std::array<ThreadState, threads_max> threads{};
  std::array<WordState, words_max> words{};
  View sc;  ///< what full fences and seq_cst operations have made visible to each other
};

/// Drops values that no thread may read any more and renumbers the rest, so that a state does not
/// depend on how long ago it began.
void forget_unreadable(State& state, std::size_t threads);

/// Two independent 64-bit hashes of everything that decides how a state continues.
struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Fingerprint&) const = default;
};

Fingerprint fingerprint(const State& state, std::size_t threads, std::size_t words);

}  // namespace gyre::explorer
