// How large the caches are: measurements of memory must outgrow them, measurements of caches must
// not. sysconf() and CPUID count caches of other virtual machines on some hosts; the kernel
// doesn't.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace gyre::bench {

/// Bytes. Where the kernel does not tell, common sizes stand in: measuring with a wrong size is
/// better than not at all, and the sizes are printed beside the figures.
struct CpuCaches {
  std::size_t first_level = 32 * 1024;         ///< data, of one CPU
  std::size_t second_level = 512 * 1024;       ///< of one CPU
  std::size_t last_level = 32 * 1024 * 1024;   ///< one instance
  std::size_t last_levels = 32 * 1024 * 1024;  ///< all instances that `cpus` use
};

/// Caches of `cpus`, by the kernel's files below `root`.
CpuCaches read_cpu_caches(std::span<const int> cpus,
                          const std::filesystem::path& root = "/sys/devices/system/cpu");

}  // namespace gyre::bench
