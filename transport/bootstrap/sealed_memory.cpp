#include "transport/bootstrap/sealed_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace gyre::transport {
namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Result<UniqueFd> make_sealed_memory(const char* name, std::size_t bytes) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return system_error("memfd_create", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return system_error(fmt::format("ftruncate to {} bytes", bytes), errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return system_error("F_ADD_SEALS", errno);
  return fd;
}

Status check_sealed_memory(int fd, std::size_t bytes) {
  const int found = ::fcntl(fd, F_GET_SEALS);
  if (found < 0 || (found & seals) != seals)
    return Status(Code::refused, "the shared memory is not sealed against changes of its size");
  struct stat about = {};
  if (::fstat(fd, &about) != 0) return system_error("fstat", errno);
  if (static_cast<std::uint64_t>(about.st_size) != bytes)
    return Status(Code::refused, fmt::format("the shared memory has {} bytes instead of {}",
                                             about.st_size, bytes));
  return {};
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (data_) ::munmap(data_, bytes_);
}

Result<SharedMapping> SharedMapping::of(int fd, std::uint64_t offset, std::size_t bytes) {
  void* data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (data == MAP_FAILED) return system_error(fmt::format("mmap of {} bytes", bytes), errno);
  SharedMapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.bytes_ = bytes;
  return mapping;
}

}  // namespace gyre::transport
