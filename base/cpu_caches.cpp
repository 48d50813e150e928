#include "base/cpu_caches.hpp"

#include <charconv>
#include <fstream>
#include <set>
#include <string>

namespace gyre {
namespace {

constexpr int indexes_max = 16;  // caches of one CPU

struct Cache {
  bool holds_data = false;
  int level = 0;
  std::size_t bytes = 0;
  std::string shared_by;
};

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;  // stays empty where there is no file
  std::getline(file, line);
  return line;
}

/// "512K" or "32M".
std::size_t parse_bytes(const std::string& text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return 0;
  if (unit != end && *unit == 'K') return number << 10;
  if (unit != end && *unit == 'M') return number << 20;
  return number;
}

/// Level 0 if there is no such cache.
Cache read_cache(const std::filesystem::path& folder) {
  const std::string level = first_line(folder / "level");
  if (level.size() != 1 || level[0] < '1' || level[0] > '9') return {};
  const bool data = first_line(folder / "type") != "Instruction";
  return {data, level[0] - '0', parse_bytes(first_line(folder / "size")),
          first_line(folder / "shared_cpu_list")};
}

}  // namespace

CpuCaches read_cpu_caches(std::span<const int> cpus, const std::filesystem::path& root) {
  CpuCaches caches;
  std::set<std::string> instances;
  std::size_t sum = 0;
  for (const int cpu : cpus) {
    Cache last;
    for (int index = 0; index < indexes_max; ++index) {
      const auto folder =
          root / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
      const Cache cache = read_cache(folder);
      if (cache.level == 0) break;
      if (cache.bytes == 0 || !cache.holds_data) continue;
      if (cache.level == 1) caches.first_level = cache.bytes;
      if (cache.level == 2) caches.second_level = cache.bytes;
      if (cache.level > last.level) last = cache;
    }
    if (last.bytes == 0) continue;
    caches.last_level = last.bytes;
    if (instances.insert(last.shared_by).second) sum += last.bytes;
  }
  if (sum > 0) caches.last_levels = sum;
  return caches;
}

}  // namespace gyre
