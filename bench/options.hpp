// What the user asked gyre-bench to measure: the command line, checked, and nothing else. Pure: no
// clock, file or environment is read here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"
#include "bench/protocol.hpp"

namespace gyre::bench {

enum class SelfTest { none, flip_bit, spin_peer };

struct Options {
  Collective collective = Collective::all_reduce;
  int ranks = 2;
  std::uint64_t bytes_min = 8;
  std::uint64_t bytes_max = std::uint64_t{256} << 20;
  std::uint64_t step_bytes = 0;  ///< > 0: sizes by addition
  double step_factor = 2;        ///< else by multiplication
  std::uint64_t iterations = 0;  ///< 0: as many as make a turn last turn_ms
  std::int64_t warm_up = -1;     ///< -1: up to 5, fewer where iterations are fewer
  bool check = true;
  std::vector<DataType> dtypes{DataType::float32};
  std::vector<ReduceOp> ops{ReduceOp::sum};
  int root = rotating_root;
  bool blocking = true;
  bool in_place = true;
  bool threads = false;
  bool registered = false;
  bool untouched = false;
  bool limits = true;  ///< measure the machine's limits first
  std::vector<std::string> peers;
  std::string json;
  std::string plot;
  double fail_under = 0;
  int pairs = 5;  ///< A B turns per size and peer; without peers: turns per size
  std::uint32_t turn_ms = 20;
  std::uint32_t timeout_ms = 60'000;  ///< of one turn
  SelfTest self_test = SelfTest::none;
};

inline constexpr std::size_t sizes_max = 4096;

/// "8", "64K", "1.5M", "2G" (K = 1024) in bytes.
Result<std::uint64_t> parse_size(std::string_view text);

/// "64K", "1.5M", "1000": the shortest exact form.
std::string size_text(std::uint64_t bytes);

/// "float", "fp32", "half", ... or "all".
Result<std::vector<DataType>> parse_dtypes(std::string_view text);
Result<std::vector<ReduceOp>> parse_ops(std::string_view text);

/// Sizes from bytes_min to bytes_max, each lowered to what `ranks` ranks can share in whole
/// elements of `dtype`, without repetitions and zeros.
Result<std::vector<std::uint64_t>> sizes_of(const Options& options, DataType dtype);

/// Elements of the smaller side for a row of `bytes`; see Operation::count.
std::uint64_t count_of(Collective collective, DataType dtype, std::uint64_t bytes, int ranks);

/// What main does: run a collective, or print `text` and exit with `exit_code`.
struct ParsedLine {
  bool run = false;
  Options options;
  std::string text;
  int exit_code = 0;
};

/// Exit codes, also in --help.
enum ExitCode : int {
  exit_ok = 0,
  exit_wrong = 1,       ///< wrong elements
  exit_usage = 2,       ///< the command line
  exit_incomplete = 3,  ///< a peer could not finish, or turns had to be thrown away for good
  exit_slow = 4,        ///< --fail-under
  exit_failed = 5,      ///< gyre could not finish, or the machine refused something
  exit_interrupted = 130,
};

/// Parses `gyre-bench COLLECTIVE ...`.
ParsedLine parse_line(int argc, const char* const* argv);

}  // namespace gyre::bench
