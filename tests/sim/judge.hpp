// Runs a scenario and decides whether what happened was right.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/scenario.hpp"
#include "transport/sim/coverage.hpp"
#include "transport/sim/world.hpp"

namespace gyre::sim {

struct Verdict {
  std::string complaint;  ///< "" if all was right
  transport::SimOutcome outcome;
  std::uint64_t trace_hash = 0;
  std::vector<std::uint64_t> actions;  ///< by rank, for kills at each of them
  transport::SimCoverage coverage;
  std::uint64_t ok_calls = 0;  ///< over all ranks
  std::uint64_t failed_calls = 0;
  std::uint64_t timeouts = 0;   ///< ranks that were told of a deadline
  std::uint64_t misblamed = 0;  ///< of these: it names a rank that only waited itself
  std::map<std::string, std::uint64_t> algorithms;  ///< calls that ended well, by what ran them
};

/// The rules:
/// - everybody who lives comes to an end, within the deadlines;
/// - each call that was started ends once, with the right result or with a failure;
/// - a failure is of a kind that was caused, names a rank that caused it, and is the same for all
///   (a deadline may name a rank that waited itself, which Verdict::misblamed counts);
/// - all ranks have the same bits after an all_reduce;
/// - nothing is written outside of outputs, ever, nor into them after the call has ended;
/// - no rule of the transport was broken.
Verdict run(const Scenario& scenario);

}  // namespace gyre::sim
