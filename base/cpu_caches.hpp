// How large the caches are, to choose between regular and streamed stores and to measure memory. By
// the kernel's word, because sysconf() and CPUID count the whole socket on some virtual machines:
// 256 MiB where a last-level cache has 32.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace gyre {

/// Bytes. Where the kernel does not tell, common sizes stand in: these sizes only ever decide about
/// speed.
struct CpuCaches {
  std::size_t first_level = 32 * 1024;         ///< data, of one CPU
  std::size_t second_level = 512 * 1024;       ///< of one CPU
  std::size_t last_level = 32 * 1024 * 1024;   ///< one instance
  std::size_t last_levels = 32 * 1024 * 1024;  ///< all instances that `cpus` use
};

/// Caches of `cpus`, by the kernel's files below `root`: about 0.1 ms for each CPU.
CpuCaches read_cpu_caches(std::span<const int> cpus,
                          const std::filesystem::path& root = "/sys/devices/system/cpu");

}  // namespace gyre
