#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace gyre::bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double geometric_mean(std::span<const double> values) {
  double logs = 0;
  for (const double value : values) {
    if (!(value > 0)) return 0;
    logs += std::log(value);
  }
  return values.empty() ? 0 : std::exp(logs / static_cast<double>(values.size()));
}

TurnFigure figure_of(std::span<const Reply> replies, std::uint64_t iterations) {
  TurnFigure figure;
  if (replies.empty() || iterations == 0) return figure;
  Reply first = replies.front();
  std::uint64_t p50_ns = 0;
  std::uint64_t p99_ns = 0;
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    const Reply& r = replies[rank];
    first.start_ns = std::min(first.start_ns, r.start_ns);
    first.end_ns = std::max(first.end_ns, r.end_ns);
    first.bare_start_ns = std::min(first.bare_start_ns, r.bare_start_ns);
    first.bare_end_ns = std::max(first.bare_end_ns, r.bare_end_ns);
    p50_ns = std::max(p50_ns, r.p50_ns);
    p99_ns = std::max(p99_ns, r.p99_ns);
    figure.bytes_sent.push_back(r.bytes_sent / iterations);
    figure.wrong += r.wrong;
    if (r.wrong > 0 && figure.wrong_rank < 0) {
      figure.wrong_rank = static_cast<int>(rank);
      figure.wrong_reply = r;
    }
  }
  const double whole_ns = static_cast<double>(first.end_ns - first.start_ns);
  const double bare_ns = static_cast<double>(first.bare_end_ns - first.bare_start_ns);
  figure.time_us =
      std::max(time_us_min, (whole_ns - bare_ns) / 1e3 / static_cast<double>(iterations));
  figure.whole_us = whole_ns / 1e3 / static_cast<double>(iterations);
  figure.p50_us = static_cast<double>(p50_ns) / 1e3;
  figure.p99_us = static_cast<double>(p99_ns) / 1e3;
  figure.algorithm = replies.front().algorithm;
  return figure;
}

double algbw_gbps(std::uint64_t bytes, double time_us) {
  return time_us > 0 ? static_cast<double>(bytes) / time_us / 1e3 : 0;
}

double busbw_gbps(Collective collective, std::uint64_t bytes, double time_us, int ranks) {
  const double n = ranks;
  double factor = 1;  // broadcast
  if (collective == Collective::all_reduce) factor = 2 * (n - 1) / n;
  if (collective == Collective::reduce_scatter || collective == Collective::all_gather)
    factor = (n - 1) / n;
  return algbw_gbps(bytes, time_us) * factor;
}

std::uint64_t least_traffic_bytes(Collective collective, std::uint64_t bytes, int ranks) {
  const auto n = static_cast<std::uint64_t>(ranks);
  // all_reduce: N inputs read, N outputs written. Else one side is the whole on every rank, and the
  // other is the whole once, over all ranks.
  return collective == Collective::all_reduce ? 2 * n * bytes : (n + 1) * bytes;
}

std::uint64_t iterations_for(double fast_us, double slow_us, std::uint32_t turn_ms) {
  const double turn_us = turn_ms * 1e3;
  const double wanted = turn_us / std::max(fast_us, time_us_min);
  const double allowed = 8 * turn_us / std::max(slow_us, time_us_min);
  const double count = std::ceil(std::min(wanted, allowed));
  return static_cast<std::uint64_t>(
      std::clamp(count, 2.0, static_cast<double>(iterations_max) / 100));
}

}  // namespace gyre::bench
