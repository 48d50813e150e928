// Host memory that other processes can map: an anonymous, sealed memfd and our mapping of it. It
// has no name anywhere, so nothing is left behind whatever becomes of the process.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "base/unique_fd.hpp"

namespace gyre::device {

/// Owns one mapping and the descriptor that names it to others. Move-only.
class HostMemory {
 public:
  /// Zeroed, page aligned, all pages present; `bytes` > 0 is rounded up to whole pages.
  /// out_of_resources: the system has no memory or no descriptor for it.
  static Result<HostMemory> allocate(std::size_t bytes);

  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  int memfd() const { return memfd_.get(); }

 private:
  HostMemory(UniqueFd memfd, std::byte* data, std::size_t bytes);

  UniqueFd memfd_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Size of a page in bytes, a power of two.
std::size_t page_bytes();

}  // namespace gyre::device
