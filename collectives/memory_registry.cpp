#include "collectives/memory_registry.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace gyre::collectives {

Result<void*> MemoryRegistry::allocate(std::size_t bytes) {
  Result<device::HostMemory> memory = device::HostMemory::allocate(bytes);
  if (!memory) return memory.status();
  std::byte* data = memory->data();
  const std::size_t whole = memory->bytes();
  const int memfd = memory->memfd();
  if (Status status = enter(data, whole, memfd, 0, std::move(*memory)); !status) return status;
  return static_cast<void*>(data);
}

Status MemoryRegistry::free(void* data) { return leave(data, true); }

Status MemoryRegistry::add(void* data, std::size_t bytes, int memfd, std::size_t offset) {
  const std::size_t page = device::page_bytes();
  if (!data || bytes == 0)
    return Status(Code::invalid_argument, "register: the range is empty or null");
  if (reinterpret_cast<std::uintptr_t>(data) % page != 0 || offset % page != 0) {
    return Status(Code::invalid_argument,
                  fmt::format("register: data and offset must be multiples of the page size, {} "
                              "bytes, as mmap gives them",
                              page));
  }
  return enter(static_cast<std::byte*>(data), bytes, memfd, offset, std::nullopt);
}

Status MemoryRegistry::remove(void* data) { return leave(data, false); }

Status MemoryRegistry::enter(std::byte* data, std::size_t bytes, int memfd, std::size_t offset,
                             std::optional<device::HostMemory> owned) {
  const std::lock_guard lock(mutex_);
  const auto next = entries_.lower_bound(data);
  const bool hits_next = next != entries_.end() && next->first < data + bytes;
  const bool hits_previous =
      next != entries_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > data;
  if (hits_next || hits_previous) {
    return Status(
        Code::invalid_argument,
        "register: the range overlaps one that is registered already; deregister that one "
        "first");
  }
  Result<transport::SegmentName> name =
      exchange_.add({.memfd = memfd, .offset = offset, .data = data, .bytes = bytes});
  if (!name) return name.status().within("register");
  entries_.emplace(data, Entry{bytes, *name, std::move(owned)});
  version_.fetch_add(1, std::memory_order_release);
  return {};
}

Status MemoryRegistry::leave(void* data, bool owned) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(static_cast<const std::byte*>(data));
  if (entry == entries_.end()) {
    return Status(Code::invalid_argument,
                  owned
                      ? "free: not the start of memory that gyre_allocate returned, or freed before"
                      : "deregister: not the start of a registered range");
  }
  if (entry->second.owned.has_value() != owned) {
    return Status(Code::invalid_argument,
                  owned ? "free: this range was registered, not allocated: use gyre_deregister"
                        : "deregister: this memory came from gyre_allocate: use gyre_free");
  }
  version_.fetch_add(1, std::memory_order_release);
  exchange_.withdraw(entry->second.name);
  entries_.erase(entry);
  return {};
}

transport::MappedRef MemoryRegistry::find(const void* data, std::size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(data);
  const std::lock_guard lock(mutex_);
  auto entry = entries_.upper_bound(begin);
  if (entry == entries_.begin()) return {};
  --entry;
  const auto offset = static_cast<std::size_t>(begin - entry->first);
  if (offset > entry->second.bytes || bytes > entry->second.bytes - offset) return {};
  return {entry->second.name.segment, entry->second.name.generation, offset};
}

std::size_t MemoryRegistry::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace gyre::collectives
