// The mappable memory of a process: which addresses other ranks can map, and under what name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "base/status.hpp"
#include "device/host/host_memory.hpp"
#include "transport/bootstrap/segment_exchange.hpp"
#include "transport/endpoint.hpp"

namespace gyre::collectives {

/// Any thread.
class MemoryRegistry {
 public:
  explicit MemoryRegistry(transport::SegmentExchange& exchange) : exchange_(exchange) {}

  /// Memory of our own, exported at once.
  Result<void*> allocate(std::size_t bytes);
  Status free(void* data);

  /// A range that the caller has mapped from `memfd`, where it starts at `offset`.
  Status add(void* data, std::size_t bytes, int memfd, std::size_t offset);
  Status remove(void* data);

  /// The name of the segment that holds all of [data, data + bytes), segment 0 if none does.
  transport::MappedRef find(const void* data, std::size_t bytes) const;

  /// Changes whenever find() could answer differently.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::size_t size() const;

 private:
  struct Entry {
    std::size_t bytes;
    transport::SegmentName name;
    std::optional<device::HostMemory> owned;
  };

  Status enter(std::byte* data, std::size_t bytes, int memfd, std::size_t offset,
               std::optional<device::HostMemory> owned);
  Status leave(void* data, bool owned);

  transport::SegmentExchange& exchange_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, Entry> entries_;  ///< by start; they do not overlap
  // Pairs with the acquire in version(): who sees the new version finds the new entries, since
  // find() takes the mutex under which it was stored.
  std::atomic<std::uint64_t> version_ = 1;
};

}  // namespace gyre::collectives
