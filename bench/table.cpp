#include "bench/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace gyre::bench {
namespace {

bool reduces(const Report& report) {
  return report.options.collective == Collective::all_reduce ||
         report.options.collective == Collective::reduce_scatter;
}

std::string root_text(const Options& o) {
  if (o.collective != Collective::broadcast) return "-1";
  return o.root == rotating_root ? "rotate" : std::to_string(o.root);
}

std::string list_text(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += fmt::format("{}{}", text.empty() ? "" : ",", number);
  return text;
}

std::string half_text(const Report& report, const Half& half) {
  if (!half.measured) return fmt::format("{:>9} {:>7} {:>7} {:>6}", "-", "-", "-", "-");
  const std::string wrong = report.options.check ? std::to_string(half.wrong) : "N/A";
  return fmt::format("{:>9} {:>7} {:>7} {:>6}", number_text(half.time_us),
                     number_text(half.algbw_gbps), number_text(half.busbw_gbps), wrong);
}

std::string mode_text(const Report& report) {
  const Options& o = report.options;
  const bool bound = static_cast<std::size_t>(o.ranks) <= report.machine.cpus.size();
  return fmt::format("{} ranks ({}, {}), buffers {} between calls, {} memory, {}", o.ranks,
                     o.threads ? "threads of one process" : "processes",
                     bound ? "one cpu each" : "more than cpus, not bound",
                     o.untouched ? "untouched" : "rewritten and read",
                     o.registered ? "registered" : "plain",
                     o.check ? "every element verified" : "nothing verified");
}

std::string best_text(const Row& row) {
  const PeerFigure* best = nullptr;
  for (const PeerFigure& figure : row.peers)
    if (figure.measured && (!best || figure.ratio < best->ratio)) best = &figure;
  return best ? fmt::format("{:>7} {}", fmt::format("{:.2f}x", best->ratio), best->peer)
              : "      -";
}

/// "Open MPI v4.1.4" of "Open MPI v4.1.4, package: ...": libraries say more than fits a line.
std::string short_version(const std::string& version) {
  std::string text = version.substr(0, version.find_first_of(",\n"));
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

/// "default 8..4K, ring 8K..64M": which variant stood where.
std::string variants_text(const Report& report, const std::string& peer) {
  std::string text;
  std::string current;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  const auto close = [&] {
    if (current.empty()) return;
    const auto range =
        first == last ? size_text(first) : fmt::format("{}..{}", size_text(first), size_text(last));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", current, range);
  };
  for (const Row& row : report.rows)
    for (const PeerFigure& figure : row.peers) {
      if (figure.peer != peer || !figure.measured) continue;
      if (figure.variant != current || row.bytes < last) {
        close();
        current = figure.variant;
        first = row.bytes;
      }
      last = row.bytes;
    }
  close();
  return text;
}

std::string best_summary(const Report& report) {
  std::vector<double> ratios;
  std::uint64_t worst_bytes = 0;
  for (const Row& row : report.rows) {
    double best = 0;
    for (const PeerFigure& figure : row.peers)
      if (figure.measured && (best == 0 || figure.ratio < best)) best = figure.ratio;
    if (best == 0) continue;
    if (ratios.empty() || best < *std::min_element(ratios.begin(), ratios.end()))
      worst_bytes = row.bytes;
    ratios.push_back(best);
  }
  if (ratios.empty()) return "";
  return fmt::format("# {:<9} geometric mean {:>6}, worst {:>6} at {:>5}\n", "best peer",
                     fmt::format("{:.2f}x", geometric_mean(ratios)),
                     fmt::format("{:.2f}x", *std::min_element(ratios.begin(), ratios.end())),
                     size_text(worst_bytes));
}

}  // namespace

std::string number_text(double value) {
  if (value < 10) return fmt::format("{:.3f}", value);
  if (value < 100) return fmt::format("{:.2f}", value);
  if (value < 1000) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string header_text(const Report& report) {
  const Machine& m = report.machine;
  const LimitFigures& limits = report.limits;
  std::string text = fmt::format(
      "# gyre-bench {}: {}\n"
      "# gyre {}\n"
      "# {}, cpus {}, {:.0f} GiB, {}, {}\n",
      name_of(report.options.collective), mode_text(report), m.gyre_version, m.cpu,
      list_text(m.cpus), static_cast<double>(m.memory_bytes) / (1 << 30), m.kernel, m.time);
  if (limits.memory_gbps > 0)
    text += fmt::format("# limits, measured now: memory {:.1f} GB/s ({}), round trip {:.3f} us\n",
                        limits.memory_gbps, limits.memory_kernel, limits.round_trip_us);
  text += fmt::format("#\n# {:>59}{:>33}\n", "out of place", "in place");
  text += fmt::format(
      "#{:>11} {:>11} {:>8} {:>6} {:>6} {:>9} {:>7} {:>7} {:>6} {:>9} {:>7} {:>7} {:>6} {:>8} "
      "{:>8} {:>10} {:>6}\n",
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
      "busbw", "#wrong", "p50", "p99", "sent/rank", "limit");
  text += fmt::format(
      "#{:>11} {:>11} {:>8} {:>6} {:>6} {:>9} {:>7} {:>7} {:>6} {:>9} {:>7} {:>7} {:>6} {:>8} "
      "{:>8} {:>10} {:>6}  {}\n",
      "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)",
      "", "(us)", "(us)", "(B)", "(%)", "algorithm");
  return text;
}

std::string row_text(const Report& report, const Row& row) {
  const auto sent =
      row.bytes_sent.empty() ? 0 : *std::max_element(row.bytes_sent.begin(), row.bytes_sent.end());
  return fmt::format(
      " {:>11} {:>11} {:>8} {:>6} {:>6} {} {} {:>8} {:>8} {:>10} {:>6}  {}\n", row.bytes, row.count,
      name_of(row.dtype), reduces(report) ? name_of(row.op) : "none", root_text(report.options),
      half_text(report, row.out_of_place), half_text(report, row.in_place), number_text(row.p50_us),
      number_text(row.p99_us), sent,
      row.limit_share > 0 ? fmt::format("{:.1f}", 100 * row.limit_share) : "-", row.algorithm);
}

std::string comparison_text(const Report& report) {
  if (report.options.peers.empty() || report.rows.empty()) return "";
  std::string text = fmt::format(
      "#\n# {}, beside the peers. Ratios are the peer's time / gyre's time: above 1 gyre is "
      "faster.\n",
      compares_in_place(report.options) ? "In place" : "Out of place");
  std::string heads = fmt::format("#{:>11} {:>8} {:>9}", "size", "type", "gyre");
  std::string units = fmt::format("#{:>11} {:>8} {:>9}", "(B)", "", "(us)");
  for (const auto& peer : report.options.peers) {
    heads += fmt::format("  {:>9} {:>8}", peer, "ratio");
    units += fmt::format("  {:>9} {:>8}", "(us)", "");
  }
  text += heads + "  best peer\n" + units + "\n";
  for (const Row& row : report.rows) {
    text += fmt::format(" {:>11} {:>8} {:>9}", row.bytes, name_of(row.dtype),
                        number_text(compared_half(report.options, row).time_us));
    for (const PeerFigure& figure : row.peers)
      text += figure.measured ? fmt::format("  {:>9} {:>8}", number_text(figure.time_us),
                                            fmt::format("{:.2f}x", figure.ratio))
                              : fmt::format("  {:>9} {:>8}", "-", "-");
    text += fmt::format("  {}\n", best_text(row));
  }
  return text;
}

std::string summary_text(const Report& report) {
  std::string text = "#\n";
  std::vector<double> busbw;
  for (const Row& row : report.rows) busbw.push_back(row.out_of_place.busbw_gbps);
  double sum = 0;
  for (const double value : busbw) sum += value;
  if (report.options.check)
    text += fmt::format("# Out of bounds values : {} {}\n", report.wrong(),
                        report.wrong() == 0 ? "OK" : "FAILED");
  if (!busbw.empty())
    text += fmt::format("# Avg bus bandwidth    : {:.4g} GB/s\n",
                        sum / static_cast<double>(busbw.size()));
  if (!report.options.peers.empty())
    text += fmt::format(
        "# Turns                : {} taken, {} discarded because a library used the cpu out of its "
        "turn (most: {:.2f} % {}), {} because the host moved the cpus\n",
        report.turns.taken, report.turns.discarded, 100 * report.turns.idle_share,
        report.turns.idle_label, report.turns.moved);
  for (const PeerSummary& peer : report.peers) {
    if (peer.rows > 0)
      text += fmt::format("# {:<9} geometric mean {:>6}, worst {:>6} at {:>5}; {}; variants: {}\n",
                          peer.peer, fmt::format("{:.2f}x", peer.geometric_mean),
                          fmt::format("{:.2f}x", peer.worst), size_text(peer.worst_bytes),
                          short_version(peer.version), variants_text(report, peer.peer));
    if (!peer.incomplete.empty())
      text += fmt::format("# {:<9} INCOMPLETE: {}\n", peer.peer, peer.incomplete);
  }
  text += best_summary(report);
  for (const auto& note : report.notes) text += fmt::format("# note: {}\n", note);
  if (report.interrupted)
    text += fmt::format("# INTERRUPTED by {}: the rows above are all there is\n", report.failure);
  else if (!report.failure.empty())
    text += fmt::format("# FAILED: {}\n", report.failure);
  else if (!report.complete())
    text += "# comparison incomplete\n";
  return text;
}

}  // namespace gyre::bench
