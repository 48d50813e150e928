#include "bench/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>

#include "bench/child_process.hpp"

namespace gyre::bench {

std::string cpu_model_of(std::string_view cpuinfo) {
  const auto at = cpuinfo.find("model name");
  if (at == std::string_view::npos) return "unknown cpu";
  const auto colon = cpuinfo.find(": ", at);
  const auto end = std::min(cpuinfo.find('\n', at), cpuinfo.size());
  if (colon == std::string_view::npos || colon > end) return "unknown cpu";
  return std::string(cpuinfo.substr(colon + 2, end - colon - 2));
}

std::uint64_t meminfo_bytes(std::string_view meminfo, std::string_view name) {
  const auto at = meminfo.find(fmt::format("{}:", name));
  if (at == std::string_view::npos) return 0;
  std::string_view rest = meminfo.substr(at + name.size() + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::uint64_t kib = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), kib);
  return kib << 10;
}

std::string read_file(const std::string& path) {
  constexpr std::size_t bytes_max = 4 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes_max, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

Machine describe_machine(const std::string& gyre_version) {
  Machine machine;
  machine.cpu = cpu_model_of(read_file("/proc/cpuinfo"));
  machine.memory_bytes = meminfo_bytes(read_file("/proc/meminfo"), "MemTotal");
  machine.cpus = allowed_cpus();
  machine.gyre_version = gyre_version;
  utsname names{};
  if (::uname(&names) == 0) machine.kernel = fmt::format("{} {}", names.sysname, names.release);
  machine.time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return machine;
}

}  // namespace gyre::bench
