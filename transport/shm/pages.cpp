#include "transport/shm/pages.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "transport/shm/layout.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace gyre::transport::shm {
namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr const char* file_name = "gyre";   // shown in /proc/self/maps, names nothing
constexpr unsigned huge_2_mib = 21U << 26;  // MFD_HUGE_2MB, which older headers lack
constexpr std::size_t text_bytes_max = std::size_t{4} << 20;
/// More than this is left to be populated when it is first touched.
constexpr std::size_t populate_bytes_max = std::size_t{1} << 20;

Result<MemoryFile> try_memory_file(std::size_t bytes, unsigned flags) {
  MemoryFile file;
  file.fd = UniqueFd(memfd_create(file_name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  if (!file.fd) return system_error("creating shared memory (memfd_create)", errno);
  if (ftruncate(file.fd.get(), static_cast<off_t>(bytes)) != 0)
    return system_error(fmt::format("sizing shared memory to {} bytes", bytes), errno);
  if (fcntl(file.fd.get(), F_ADD_SEALS, seals) != 0)
    return system_error("sealing shared memory", errno);
  Result<SharedMapping> mapping = SharedMapping::of(file.fd.get(), bytes);
  if (!mapping) return mapping.status();
  file.mapping = std::move(*mapping);
  return file;
}

/// Touches pages without SIGBUS where there are none: this call fails instead.
bool populate(std::byte* data, std::size_t bytes) {
  return madvise(data, bytes, MADV_POPULATE_WRITE) == 0;
}

/// A file of the kernel's, empty when it cannot be read.
std::string read_text(const char* path) {
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char part[16384];
  while (fd && text.size() < text_bytes_max) {
    const ssize_t got = read(fd.get(), part, sizeof part);
    if (got <= 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

/// Whether the kernel would give transparent huge pages to a shared mapping that asks for them.
bool transparent_possible() {
  const std::string setting = read_text("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  return !setting.empty() && setting.find("[never]") == std::string::npos &&
         setting.find("[deny]") == std::string::npos;
}

std::string small_pages_note(std::size_t bytes) {
  return fmt::format(
      "4 KiB pages; for 2 MiB ones set vm.nr_hugepages to at least {} free pages, or write advise "
      "to /sys/kernel/mm/transparent_hugepage/shmem_enabled",
      bytes / segment_granule_bytes);
}

}  // namespace

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (data_) munmap(data_, bytes_);
}

Result<SharedMapping> SharedMapping::of(int fd, std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED)
    return system_error(fmt::format("mapping {} bytes of shared memory", bytes), errno);
  SharedMapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.bytes_ = bytes;
  return mapping;
}

Result<MemoryFile> make_memory_file(std::size_t bytes, std::size_t used_bytes) {
  // With no reserved pages left, mapping fails; a limit of the container shows when populating.
  Result<MemoryFile> huge = try_memory_file(bytes, MFD_HUGETLB | huge_2_mib);
  if (huge && populate(huge->mapping.data(), bytes)) {
    huge->note = "2 MiB pages (reserved)";
    return huge;
  }

  Result<MemoryFile> file = try_memory_file(bytes, 0);
  if (!file) return file;
  std::byte* data = file->mapping.data();
  const bool asked = transparent_possible() && madvise(data, bytes, MADV_HUGEPAGE) == 0;
  // Pages of a kernel before 5.14, or of a huge part, come when they are touched.
  populate(data, used_bytes < populate_bytes_max ? used_bytes : populate_bytes_max);
  const bool granted = asked && huge_bytes_of(read_text("/proc/self/smaps"),
                                              reinterpret_cast<std::uintptr_t>(data)) > 0;
  file->note = granted ? "2 MiB pages (transparent)" : small_pages_note(bytes);
  return file;
}

Status check_memory_file(int fd, std::size_t bytes) {
  const int found = fcntl(fd, F_GET_SEALS);
  if (found < 0) return system_error("reading the seals of shared memory", errno);
  if ((found & seals) != seals)
    return {Code::refused, "shared memory from a peer is not sealed: it could be cut off under us"};
  struct stat status {};
  if (fstat(fd, &status) != 0) return system_error("measuring shared memory", errno);
  if (status.st_size < 0 || static_cast<std::size_t>(status.st_size) != bytes)
    return {Code::mismatch,
            fmt::format("shared memory from a peer has {} bytes, this rank expects {}; do all "
                        "ranks run the same gyre with the same settings?",
                        status.st_size, bytes)};
  return {};
}

std::size_t huge_bytes_of(std::string_view smaps, std::uintptr_t address) {
  const std::string start = fmt::format("{:08x}-", address);
  std::size_t at = smaps.starts_with(start) ? 0 : smaps.find("\n" + start);
  if (at == std::string_view::npos) return 0;
  const std::size_t end = smaps.find("VmFlags:", at);  // closes the entry of each mapping
  const std::string_view entry = smaps.substr(at, end == std::string_view::npos ? end : end - at);
  for (std::string_view field : {"ShmemPmdMapped:", "FilePmdMapped:"}) {
    at = entry.find(field);
    if (at == std::string_view::npos) continue;
    at = entry.find_first_not_of(' ', at + field.size());
    std::size_t kib = 0;
    if (at != std::string_view::npos)
      std::from_chars(entry.data() + at, entry.data() + entry.size(), kib);
    if (kib > 0) return kib * 1024;
  }
  return 0;
}

}  // namespace gyre::transport::shm
