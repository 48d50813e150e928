// `gyre-bench rank` and `gyre-bench rank-threads`: what gyre-bench starts itself as, to be gyre's
// rank processes. Not for users.
#pragma once

namespace gyre::bench {

/// One rank; `argv` begins with the subcommand. The exit code.
int run_rank(int argc, char** argv);

/// All ranks, as threads of this process.
int run_rank_threads(int argc, char** argv);

}  // namespace gyre::bench
