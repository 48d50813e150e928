#include "bench/report.hpp"

#include <algorithm>

namespace gyre::bench {

bool Report::complete() const {
  return failure.empty() && std::all_of(peers.begin(), peers.end(), [](const PeerSummary& peer) {
           return peer.incomplete.empty();
         });
}

std::uint64_t Report::wrong() const {
  std::uint64_t sum = 0;
  for (const Row& row : rows) sum += row.out_of_place.wrong + row.in_place.wrong;
  return sum;
}

void summarise(Report& report) {
  for (PeerSummary& summary : report.peers) {
    std::vector<double> ratios;
    summary.worst = 0;
    for (const Row& row : report.rows)
      for (const PeerFigure& figure : row.peers) {
        if (figure.peer != summary.peer || !figure.measured) continue;
        if (ratios.empty() || figure.ratio < summary.worst) {
          summary.worst = figure.ratio;
          summary.worst_bytes = row.bytes;
        }
        ratios.push_back(figure.ratio);
      }
    summary.rows = ratios.size();
    summary.geometric_mean = geometric_mean(ratios);
    if (ratios.empty() && summary.incomplete.empty())
      summary.incomplete = "it has nothing of what was measured";
  }
}

ExitCode exit_code_of(const Report& report) {
  if (report.interrupted) return exit_interrupted;
  if (!report.failure.empty()) return exit_failed;
  if (report.wrong() > 0) return exit_wrong;
  if (!report.complete()) return exit_incomplete;
  for (const PeerSummary& peer : report.peers)
    if (peer.rows > 0 && peer.worst < report.options.fail_under) return exit_slow;
  return exit_ok;
}

}  // namespace gyre::bench
