// The memory policy of production: what the templates of this folder need of atomics, fences and
// futexes. tests/explorer puts an instrumented policy in its place and runs the same templates
// through every interleaving and every stale value that C++ allows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace gyre::transport::shm {

/// Who pays for the full fence between "store what was published" and "look who sleeps".
enum class FenceMode : std::uint8_t {
  symmetric,   ///< both sides: read-modify-writes of one word, which are in one total order
  asymmetric,  ///< the sleeper alone: membarrier(2) fences all processes that registered
};

/// Registers this process for asymmetric fences and says which mode it can offer: asymmetric where
/// the kernel has MEMBARRIER_CMD_GLOBAL_EXPEDITED, except under ThreadSanitizer, which cannot see
/// such a fence. Registering takes a microsecond while the process has one thread and up to tens of
/// milliseconds (an RCU grace period) after that; repeating it is cheap. After exec, again.
FenceMode register_fences();

struct HostMemory {
  template <class T>
  using Atomic = std::atomic<T>;
  /// Words that the protocol orders by other words' releases and acquires, so that no two accesses
  /// ever race. Atomic nevertheless: a hostile peer must not be able to make them undefined.
  template <class T>
  using Payload = std::atomic<T>;

  static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                    sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t),
                "shared counters must be plain words, the same for every process");
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
                    sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t),
                "a futex is a plain 32-bit word");

  /// A hint: `bytes` from `data` on will be stored next. Fetches their cache lines from the peers
  /// that read them last while there is nothing else to do. Orders nothing.
  static void expect_stores(const void* data, std::size_t bytes) {
#if defined(__x86_64__)
    const auto* byte = static_cast<const char*>(data);
    for (std::size_t i = 0; i < bytes; i += cache_line_bytes)
      asm volatile("prefetchw %0" : : "m"(byte[i]));
#else
    for (std::size_t i = 0; i < bytes; i += cache_line_bytes)
      __builtin_prefetch(static_cast<const char*>(data) + i, 1);
#endif
  }

  /// A hint: `bytes` from `data` on will be read as soon as a peer has stored them. Orders nothing.
  static void expect_loads(const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += cache_line_bytes)
      __builtin_prefetch(static_cast<const char*>(data) + i);
  }

  /// The publisher's half of an asymmetric fence: nothing but a barrier for the compiler.
  static void publisher_fence() { asm volatile("" ::: "memory"); }

  /// The sleeper's half: a full fence here and in every process that registered.
  static void sleeper_fence();

  /// Sleeps while `word` holds `expected`, at most `timeout_ns`. May return early.
  static void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::int64_t timeout_ns);
  /// Wakes everyone who waits on `word`.
  static void futex_wake(std::atomic<std::uint32_t>& word);
};

}  // namespace gyre::transport::shm
