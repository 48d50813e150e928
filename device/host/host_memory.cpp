#include "device/host/host_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

namespace gyre::device {

namespace {

Status no_memory(std::size_t bytes, int error) {
  return Status(
      Code::out_of_resources,
      fmt::format("no mappable memory of {} bytes: {}; allocate less, or raise the limits on "
                  "memory (cgroup, RLIMIT_AS) and descriptors (RLIMIT_NOFILE)",
                  bytes, system_error("memfd", error).message()));
}

}  // namespace

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

Result<HostMemory> HostMemory::allocate(std::size_t bytes) {
  const std::size_t page = page_bytes();
  if (bytes == 0 || bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max()) - page)
    return Status(Code::invalid_argument, fmt::format("can't allocate {} bytes", bytes));
  const std::size_t whole = (bytes + page - 1) / page * page;
  UniqueFd memfd(memfd_create("gyre-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd) return no_memory(bytes, errno);
  // fallocate, not only ftruncate: memory that is not there must be noticed now, not by SIGBUS.
  if (ftruncate(memfd.get(), static_cast<off_t>(whole)) != 0 ||
      fallocate(memfd.get(), 0, 0, static_cast<off_t>(whole)) != 0 ||
      fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return no_memory(bytes, errno);
  }
  void* data =
      mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memfd.get(), 0);
  if (data == MAP_FAILED) return no_memory(bytes, errno);
  return HostMemory(std::move(memfd), static_cast<std::byte*>(data), whole);
}

HostMemory::HostMemory(UniqueFd memfd, std::byte* data, std::size_t bytes)
    : memfd_(std::move(memfd)), data_(data), bytes_(bytes) {}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : memfd_(std::move(other.memfd_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  if (this != &other) {
    if (data_) munmap(data_, bytes_);
    memfd_ = std::move(other.memfd_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

HostMemory::~HostMemory() {
  if (data_) munmap(data_, bytes_);
}

}  // namespace gyre::device
