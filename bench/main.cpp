// gyre-bench: measures gyre's collectives and kernels, beside other libraries, on this machine.
#include <string>
#include <string_view>
#include <vector>

#include "bench/child_process.hpp"
#include "bench/collective_command.hpp"
#include "bench/footprint_command.hpp"
#include "bench/kernels_command.hpp"
#include "bench/rank_command.hpp"

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "rank") return gyre::bench::run_rank(argc - 1, argv + 1);
  if (command == "rank-threads") return gyre::bench::run_rank_threads(argc - 1, argv + 1);
  if (command == "kernels") {
    const std::vector<std::string> arguments(argv + 2, argv + argc);
    return gyre::bench::run_kernels(arguments, gyre::bench::allowed_cpus());
  }
  if (command == "footprint")
    return gyre::bench::run_footprint(std::vector<std::string>(argv + 2, argv + argc));
  return gyre::bench::run_collective(argc, argv);
}
