// The memory policy that puts the explorer under the templates of transport/shm: every access to a
// shared word becomes an operation that the explorer schedules and answers.
#pragma once

#include <atomic>
#include <cstdint>

#include "tests/explorer/explorer.hpp"

namespace gyre::explorer {

// Where an operation stands in the source. Defaults, so that the code under test does not know.
#define GYRE_EXPLORER_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/// A shared word of which the explorer keeps all values. Starts at 0.
template <class T, bool ordered = false>
class Word {
 public:
  T load(std::memory_order order, GYRE_EXPLORER_SITE) const {
    return static_cast<T>(perform({Kind::load, &id_, ordered, order, {file, line}}));
  }
  void store(T value, std::memory_order order, GYRE_EXPLORER_SITE) {
    perform({Kind::store, &id_, ordered, order, {file, line}, static_cast<std::uint64_t>(value)});
  }
  T fetch_add(T value, std::memory_order order, GYRE_EXPLORER_SITE) {
    return modify(Kind::fetch_add, value, order, {file, line});
  }
  T fetch_or(T value, std::memory_order order, GYRE_EXPLORER_SITE) {
    return modify(Kind::fetch_or, value, order, {file, line});
  }
  T fetch_and(T value, std::memory_order order, GYRE_EXPLORER_SITE) {
    return modify(Kind::fetch_and, value, order, {file, line});
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order success,
                               std::memory_order failure, GYRE_EXPLORER_SITE) {
    Operation operation{Kind::compare_exchange,           &id_, ordered, success, {file, line},
                        static_cast<std::uint64_t>(value)};
    operation.expected = static_cast<std::uint64_t>(expected);
    operation.failure_order = failure;
    const T found = static_cast<T>(perform(operation));
    const bool same = found == expected;
    expected = found;
    return same;
  }

 private:
  friend struct Memory;
  T modify(Kind kind, T value, std::memory_order order, Site site) {
    return static_cast<T>(
        perform({kind, &id_, ordered, order, site, static_cast<std::uint64_t>(value)}));
  }
  mutable int id_ = -1;  ///< the explorer's number for this word, given at its first use
};

/// Ordinary memory: every access must be ordered with every conflicting one by happens-before.
template <class T>
class Plain {
 public:
  T load(GYRE_EXPLORER_SITE) const {
    return static_cast<T>(
        perform({Kind::load, &id_, true, std::memory_order_relaxed, {file, line}}));
  }
  void store(T value, GYRE_EXPLORER_SITE) {
    perform({Kind::store,
             &id_,
             true,
             std::memory_order_relaxed,
             {file, line},
             static_cast<std::uint64_t>(value)});
  }

 private:
  mutable int id_ = -1;
};

struct Memory {
  template <class T>
  using Atomic = Word<T>;
  template <class T>
  using Payload = Word<T, true>;

  static void expect_stores(const void*, std::size_t) {}
  static void expect_loads(const void*, std::size_t) {}
  static void publisher_fence(GYRE_EXPLORER_SITE) { fence(Kind::publisher_fence, {file, line}); }
  static void sleeper_fence(GYRE_EXPLORER_SITE) { fence(Kind::sleeper_fence, {file, line}); }
  /// A full fence, std::atomic_thread_fence(seq_cst).
  static void full_fence(GYRE_EXPLORER_SITE) { fence(Kind::full_fence, {file, line}); }

  static void futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t,
                         GYRE_EXPLORER_SITE) {
    Operation operation{
        Kind::futex_wait, &word.id_, false, std::memory_order_relaxed, {file, line}};
    operation.expected = expected;
    perform(operation);
  }
  static void futex_wake(Atomic<std::uint32_t>& word, GYRE_EXPLORER_SITE) {
    perform({Kind::futex_wake, &word.id_, false, std::memory_order_relaxed, {file, line}});
  }

 private:
  static void fence(Kind kind, Site site) {
    perform({kind, nullptr, false, std::memory_order_seq_cst, site});
  }
};

#undef GYRE_EXPLORER_SITE

}  // namespace gyre::explorer
