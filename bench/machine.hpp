// What machine a figure was taken on.
#pragma once

#include <string>
#include <string_view>

#include "bench/report.hpp"

namespace gyre::bench {

/// The first "model name" of the text of /proc/cpuinfo; "unknown cpu" if there is none.
std::string cpu_model_of(std::string_view cpuinfo);

/// Bytes of the text of `name:  N kB` in /proc/meminfo; 0 if it is not there.
std::uint64_t meminfo_bytes(std::string_view meminfo, std::string_view name);

/// The whole file, "" if it can't be read; at most 4 MiB.
std::string read_file(const std::string& path);

/// This machine, now. `gyre_version` is gyre_version().
Machine describe_machine(const std::string& gyre_version);

}  // namespace gyre::bench
