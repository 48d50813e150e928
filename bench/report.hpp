// Everything a run has found out, in one plain structure that the table, the JSON file and the exit
// code are made from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/turn_taking.hpp"

namespace gyre::bench {

struct Machine {
  std::string cpu;     ///< model name
  std::string kernel;  ///< of the operating system
  std::vector<int> cpus;
  std::uint64_t memory_bytes = 0;
  std::string gyre_version;  ///< with the commit
  std::string time;          ///< UTC, ISO 8601
};

/// What the machine can do, measured in the same run; 0 where it was not measured.
struct LimitFigures {
  double memory_gbps = 0;
  std::string memory_kernel;  ///< the best of them
  double round_trip_us = 0;
};

/// One row's half: out of place or in place.
struct Half {
  bool measured = false;
  double time_us = 0;
  double algbw_gbps = 0;
  double busbw_gbps = 0;
  std::uint64_t wrong = 0;
};

struct PeerFigure {
  std::string peer;
  bool measured = false;
  std::string variant;
  std::string why_not;  ///< where it was not measured
  double time_us = 0;
  double ratio = 0;
  double ratio_min = 0;
  double ratio_max = 0;
  std::uint64_t wrong = 0;
};

struct Row {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  DataType dtype = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  Half out_of_place;
  Half in_place;
  double p50_us = 0;
  double p99_us = 0;
  double limit_share = 0;                 ///< of the memory limit, 0..1
  std::vector<std::uint64_t> bytes_sent;  ///< per rank and call, out of place
  std::string algorithm;
  std::vector<PeerFigure> peers;
};

/// Which half the peers are compared with: a broadcast of MPI or Gloo is always in place.
inline bool compares_in_place(const Options& options) {
  return options.collective == Collective::broadcast && !options.peers.empty();
}
inline const Half& compared_half(const Options& options, const Row& row) {
  return compares_in_place(options) ? row.in_place : row.out_of_place;
}

struct PeerSummary {
  std::string peer;
  std::string version;
  std::size_t rows = 0;
  double geometric_mean = 0;
  double worst = 0;
  std::uint64_t worst_bytes = 0;
  std::string incomplete;  ///< why; "" if it finished
};

struct Report {
  Options options;
  Machine machine;
  LimitFigures limits;
  std::vector<Row> rows;
  std::vector<PeerSummary> peers;
  TurnLog turns;
  std::vector<std::string> notes;  ///< things a reader of the figures has to know
  std::string failure;             ///< why the run ended early; "" if it did not
  bool interrupted = false;

  bool complete() const;
  /// Of gyre; a peer's wrong elements make it incomplete.
  std::uint64_t wrong() const;
};

/// Fills geometric_mean, worst and rows of every summary from the rows.
void summarise(Report& report);

/// What gyre-bench exits with.
ExitCode exit_code_of(const Report& report);

}  // namespace gyre::bench
