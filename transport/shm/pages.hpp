// Memory files and their mappings, on the largest pages that this machine grants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/unique_fd.hpp"

namespace gyre::transport::shm {

/// A shared mapping; move-only, unmaps on destruction.
class SharedMapping {
 public:
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping();

  /// Maps the first `bytes` of `fd` for reading and writing.
  static Result<SharedMapping> of(int fd, std::size_t bytes);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct MemoryFile {
  UniqueFd fd;
  SharedMapping mapping;
  std::string note;  ///< for the log: which pages, and what would give larger ones
};

/// An anonymous memory file of `bytes`, a multiple of segment_granule_bytes, sealed against any
/// change of its size, zero, and mapped. The first `used_bytes` are populated, the rest when first
/// touched; on reserved huge pages all of it is, because they cannot be had later.
Result<MemoryFile> make_memory_file(std::size_t bytes, std::size_t used_bytes);

/// Whether `fd` is sealed as make_memory_file does it and exactly `bytes` long.
Status check_memory_file(int fd, std::size_t bytes);

/// The bytes of huge pages mapped at `address` according to the text of /proc/self/smaps; 0 when
/// the mapping isn't there.
std::size_t huge_bytes_of(std::string_view smaps, std::uintptr_t address);

}  // namespace gyre::transport::shm
