// Runs the ranks of a communicator for a test: as threads of this process with one context, or as
// forked processes with one context each.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gyre/gyre.h"

namespace gyre::test {

/// What a rank of a test has.
struct Rank {
  gyre_context_t context = nullptr;
  gyre_comm_t comm = nullptr;
  int rank = 0;
  int size = 1;
};

/// A rank's body; returns "" or what went wrong. Catch2's macros are not for these: they run on
/// other threads or in other processes.
using Body = std::function<std::string(const Rank&)>;

struct RunOptions {
  std::uint32_t timeout_ms = 20'000;
  bool destroys = true;  ///< after the body; else the body has done it or the process just ends
};

/// Runs `body` on `size` threads. Fails the test with each rank's complaint.
void run_threads(int size, const Body& body, const RunOptions& options = {});

/// Runs `body` in `size` forked processes, with `environment` ("NAME=value") set in all of them.
/// Returns each rank's complaint, or "killed by signal N"; no process is left behind.
std::vector<std::string> run_processes(int size, const Body& body, const RunOptions& options = {},
                                       const std::vector<std::string>& environment = {});

/// Every entry is "".
void require_all_well(const std::vector<std::string>& complaints);

/// `call` returned `status`; "" if it is ok, else its name and text.
std::string complain(const char* call, gyre_status status);

}  // namespace gyre::test
