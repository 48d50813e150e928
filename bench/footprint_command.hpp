// `gyre-bench footprint`: what gyre costs beside the time of its operations: memory per
// communicator and rank, the time until a job has its first result, the size of the library.
#pragma once

#include <span>
#include <string>

namespace gyre::bench {

/// Runs the command and prints to stdout; `arguments` are those after the word "footprint". Forks,
/// so the process must have no threads yet. The result is gyre-bench's exit code.
int run_footprint(std::span<const std::string> arguments);

}  // namespace gyre::bench
