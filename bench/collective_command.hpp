// `gyre-bench all_reduce` and its like, from the command line to the exit code: the edge where
// files, clock, memory and processes are looked at.
#pragma once

namespace gyre::bench {

int run_collective(int argc, char** argv);

}  // namespace gyre::bench
