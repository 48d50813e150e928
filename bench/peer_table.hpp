// What gyre-bench knows about its peers, read from two files that lie beside their programs
// (build/bench/peers/):
//
// peers.json, made by the build, says how each is started:
//
//   { "openmpi": {
//       "program": "peer-openmpi",             // beside this file; absent: not built
//       "launcher": ["mpiexec.openmpi", "--bind-to", "none", "-n", "{ranks}"],
//       "environment": {"NAME": "value"},
//       "oversubscribed": {"launcher": [...], "environment": {...}},   // added if ranks > cpus
//       "install": "apt-get install openmpi-bin libopenmpi-dev" } }
//
// The command is launcher + the variant's words + program + the arguments of bench/helper.hpp. No
// launcher: gyre-bench starts the ranks itself, and adds --rank, --size and --directory.
//
// variants, kept by hand, says what to try; the fastest at each size is the peer:
//
//   # peer    variant   words: NAME=value goes to the environment, anything else to the launcher
//   openmpi   default
//   openmpi   no-cma    OMPI_MCA_btl_vader_single_copy_mechanism=none
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace gyre::bench {

struct LaunchWords {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
};

struct Peer {
  std::string name;
  std::string program;  ///< absolute path; "" if it was not built
  LaunchWords launch;
  LaunchWords oversubscribed;        ///< added to `launch` where there are more ranks than cpus
  bool stop_between_orders = false;  ///< as RankSetPlan has it
  std::string install;
};

struct Variant {
  std::string peer;
  std::string name;
  LaunchWords words;
};

inline constexpr std::size_t variants_max = 200;
inline constexpr std::size_t table_bytes_max = 1 << 20;

/// Parses the text of `peers.json` that lies in `folder`.
Result<std::vector<Peer>> parse_peers(std::string_view json, const std::string& folder);

/// Parses the text of `variants`. An error names the line.
Result<std::vector<Variant>> parse_variants(std::string_view text);

}  // namespace gyre::bench
