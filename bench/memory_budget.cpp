#include "bench/memory_budget.hpp"

#include <fmt/format.h>

namespace gyre::bench {
namespace {

std::string mib_text(double bytes) { return fmt::format("{:.0f} MiB", bytes / (1 << 20)); }

}  // namespace

std::uint64_t bytes_needed(const Options& o, std::uint64_t bytes) {
  const auto ranks = static_cast<std::uint64_t>(o.ranks);
  const bool shared =
      o.collective == Collective::reduce_scatter || o.collective == Collective::all_gather;
  const std::uint64_t per_rank = bytes + (shared ? bytes / ranks : bytes);
  const std::uint64_t libraries = o.peers.empty() ? 1 : 2;
  return ranks * libraries * per_rank + ranks * (1 + o.peers.size()) * process_bytes;
}

Result<Budget> fit(const Options& o, std::uint64_t available_bytes) {
  const auto usable =
      static_cast<std::uint64_t>(static_cast<double>(available_bytes) * usable_share);
  Budget budget;
  if (available_bytes == 0 || bytes_needed(o, o.bytes_max) <= usable) {
    budget.bytes_max = o.bytes_max;  // what is not known is not refused
    return budget;
  }
  if (bytes_needed(o, o.bytes_min) > usable)
    return Status(
        Code::out_of_resources,
        fmt::format("{} ranks need {} for size {}, and {} of {} available may be used: give fewer "
                    "ranks (-n), a smaller -b, or fewer peers",
                    o.ranks, mib_text(static_cast<double>(bytes_needed(o, o.bytes_min))),
                    size_text(o.bytes_min), mib_text(static_cast<double>(usable)),
                    mib_text(static_cast<double>(available_bytes))));
  std::uint64_t low = o.bytes_min;
  std::uint64_t high = o.bytes_max;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (bytes_needed(o, middle) <= usable)
      low = middle;
    else
      high = middle - 1;
  }
  budget.bytes_max = low;
  budget.note = fmt::format(
      "-e {} is capped to {}: {} ranks would need {}, and {} of {} available may be used",
      size_text(o.bytes_max), size_text(low), o.ranks,
      mib_text(static_cast<double>(bytes_needed(o, o.bytes_max))),
      mib_text(static_cast<double>(usable)), mib_text(static_cast<double>(available_bytes)));
  return budget;
}

}  // namespace gyre::bench
