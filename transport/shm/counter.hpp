// A 64-bit counter with one writer: how many messages were published or consumed, the last
// operation left. It only rises, so a reader may keep what it saw and look again when that runs
// out.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/types.hpp"
#include "transport/shm/host_memory.hpp"

namespace gyre::transport::shm {

template <class Memory>
class alignas(cache_line_bytes) Counter {
 public:
  /// Its one writer: everything done before is visible to whoever reads `value` or more.
  void set(std::uint64_t value) {
    value_.store(value, std::memory_order_release);  // pairs with the load in get()
  }

  std::uint64_t get() const {
    return value_.load(std::memory_order_acquire);  // pairs with the store in set()
  }

 private:
  typename Memory::template Atomic<std::uint64_t> value_{};
};

static_assert(sizeof(Counter<HostMemory>) == cache_line_bytes);

/// A word that its one writer leaves for the others' diagnosis. Orders nothing.
template <class Memory>
struct alignas(cache_line_bytes) Note {
  typename Memory::template Atomic<std::uint64_t> value{};
};
static_assert(sizeof(Note<HostMemory>) == cache_line_bytes);

/// What a look at memory that a peer writes can find.
enum class Look : std::uint8_t {
  ready,
  not_yet,
  corrupt,  ///< a value that no correct peer stores here; nothing was taken from it
};

}  // namespace gyre::transport::shm
