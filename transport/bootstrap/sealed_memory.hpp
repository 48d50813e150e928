// Memory that processes share: anonymous memfds whose size can no longer change, so that no peer
// can take pages away from under a reader (SIGBUS).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "base/unique_fd.hpp"

namespace gyre::transport {

/// A zeroed memfd with F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL. `name` shows in /proc/PID/maps.
Result<UniqueFd> make_sealed_memory(const char* name, std::size_t bytes);

/// Whether a descriptor that came from a peer is sealed like that and has exactly `bytes`; refused
/// otherwise.
Status check_sealed_memory(int fd, std::size_t bytes);

/// One shared mapping of a file, unmapped on destruction. Move-only.
class SharedMapping {
 public:
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping();

  /// Readable and writable; `offset` is a multiple of the page size.
  static Result<SharedMapping> of(int fd, std::uint64_t offset, std::size_t bytes);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gyre::transport
