// `gyre-bench kernels`: how fast the reduce and copy kernels are in each cache and in memory,
// beside what memory can do.
#pragma once

#include <span>
#include <string>

namespace gyre::bench {

/// Runs the command on `cpus`, one pinned thread each, and prints to stdout. `arguments` are those
/// after the word "kernels". The result is gyre-bench's exit code: 0, 2 for a wrong command line, 5
/// if the machine refused something (the reason goes to stderr). One caller at a time.
int run_kernels(std::span<const std::string> arguments, std::span<const int> cpus);

}  // namespace gyre::bench
