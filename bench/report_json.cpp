#include "bench/report_json.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/unique_fd.hpp"

namespace gyre::bench {
namespace {

using nlohmann::ordered_json;

/// The part of "0.1.0 (commit)" in brackets, or all of it.
std::string commit_of(const std::string& version) {
  const auto open = version.find('(');
  const auto close = version.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return version;
  return version.substr(open + 1, close - open - 1);
}

ordered_json peer_json(const PeerFigure& figure) {
  if (!figure.measured) return {{"not_measured", figure.why_not}};
  return {{"time_us", figure.time_us},     {"ratio", figure.ratio},
          {"ratio_min", figure.ratio_min}, {"ratio_max", figure.ratio_max},
          {"variant", figure.variant},     {"wrong", figure.wrong}};
}

ordered_json row_json(const Report& report, const Row& row) {
  const auto sent =
      row.bytes_sent.empty() ? 0 : *std::max_element(row.bytes_sent.begin(), row.bytes_sent.end());
  ordered_json json = {
      {"size", row.bytes},
      {"count", row.count},
      {"dtype", std::string(name_of(row.dtype))},
      {"op", std::string(name_of(row.op))},
      {"time_us", row.out_of_place.time_us},
      {"p50_us", row.p50_us},
      {"p99_us", row.p99_us},
      {"algbw", row.out_of_place.algbw_gbps},
      {"busbw", row.out_of_place.busbw_gbps},
      {"limit_share", row.limit_share},
      {"bytes_sent", sent},
      {"bytes_sent_by_rank", row.bytes_sent},
      {"wrong", row.out_of_place.wrong},
      {"algorithm", row.algorithm},
  };
  if (row.in_place.measured)
    json["in_place"] = {{"time_us", row.in_place.time_us},
                        {"algbw", row.in_place.algbw_gbps},
                        {"busbw", row.in_place.busbw_gbps},
                        {"wrong", row.in_place.wrong}};
  if (!report.options.peers.empty()) json["peers"] = ordered_json::object();
  for (const PeerFigure& figure : row.peers) json["peers"][figure.peer] = peer_json(figure);
  return json;
}

ordered_json options_json(const Options& o) {
  return {
      {"collective", std::string(name_of(o.collective))},
      {"ranks", o.ranks},
      {"ranks_are", o.threads ? "threads" : "processes"},
      {"buffers", o.untouched ? "untouched" : "rewritten"},
      {"memory", o.registered ? "registered" : "plain"},
      {"blocking", o.blocking},
      {"compared", compares_in_place(o) ? "in place" : "out of place"},
      {"root", o.root == rotating_root ? ordered_json("rotate") : ordered_json(o.root)},
      {"checked", o.check},
      {"pairs", o.pairs},
      {"turn_ms", o.turn_ms},
      {"peers", o.peers},
  };
}

}  // namespace

std::string json_text(const Report& report) {
  const Machine& m = report.machine;
  ordered_json json;
  json["format"] = 1;
  json["commit"] = commit_of(m.gyre_version);
  json["gyre_version"] = m.gyre_version;
  json["time"] = m.time;
  json["machine"] = {
      {"cpu", m.cpu}, {"cpus", m.cpus}, {"memory_bytes", m.memory_bytes}, {"kernel", m.kernel}};
  json["options"] = options_json(report.options);
  json["limits"] = {{"memory_gbps", report.limits.memory_gbps},
                    {"memory_kernel", report.limits.memory_kernel},
                    {"round_trip_us", report.limits.round_trip_us}};
  json["rows"] = ordered_json::array();
  for (const Row& row : report.rows) json["rows"].push_back(row_json(report, row));
  json["summary"] = ordered_json::object();
  for (const PeerSummary& peer : report.peers)
    json["summary"][peer.peer] = {{"version", peer.version},
                                  {"rows", peer.rows},
                                  {"geometric_mean", peer.geometric_mean},
                                  {"worst", peer.worst},
                                  {"worst_size", peer.worst_bytes},
                                  {"incomplete", peer.incomplete}};
  json["turns"] = {{"taken", report.turns.taken},
                   {"discarded", report.turns.discarded},
                   {"moved", report.turns.moved},
                   {"idle_share_max", report.turns.idle_share},
                   {"idle_share_max_by", report.turns.idle_label}};
  json["notes"] = report.notes;
  json["complete"] = report.complete();
  json["failure"] = report.failure;
  // Peers' messages may hold any bytes.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Status write_json(const Report& report, const std::string& path) {
  const std::string text = json_text(report);
  const std::string part = path + ".part";
  const UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return system_error("writing " + path, errno);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(fd.get(), text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_error("writing " + path, errno);
    done += static_cast<std::size_t>(written);
  }
  if (::rename(part.c_str(), path.c_str()) != 0) return system_error("writing " + path, errno);
  return {};
}

}  // namespace gyre::bench
