#include "bench/rank_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gyre/gyre.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "bench/gyre_library.hpp"
#include "bench/helper.hpp"

namespace gyre::bench {
namespace {

constexpr Nanoseconds id_timeout_ns = 30'000 * nanoseconds_per_ms;
constexpr timespec id_poll_step{0, 1'000'000};

int complain(const std::string& what) {
  fmt::print(stderr, "gyre-bench rank: {}\n", what);
  return 1;
}

/// Rank 0 puts the id into the ranks' private folder under its final name only when it is whole.
bool publish_id(const std::string& folder, const gyre_unique_id& id) {
  const std::string part = folder + "/id.part";
  const UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return fd && ::write(fd.get(), &id, sizeof id) == static_cast<ssize_t>(sizeof id) &&
         ::rename(part.c_str(), (folder + "/id").c_str()) == 0;
}

bool await_id(const std::string& folder, gyre_unique_id* id) {
  const auto deadline = Deadline::after(monotonic_now(), id_timeout_ns);
  while (!deadline.passed(monotonic_now())) {
    const UniqueFd fd(::open((folder + "/id").c_str(), O_RDONLY | O_CLOEXEC));
    if (fd) return read_all(fd.get(), id, sizeof *id);
    ::nanosleep(&id_poll_step, nullptr);
  }
  return false;
}

/// Makes the communicator of one rank and serves gyre-bench until it quits.
int serve_rank(gyre_context_t context, const gyre_unique_id& id, const HelperArguments& arguments) {
  gyre_comm_t comm = nullptr;
  if (gyre_comm_create(context, &id, arguments.rank, arguments.size, nullptr, &comm) != GYRE_OK)
    return complain(gyre_last_error());
  int code = 0;
  {
    GyreLibrary library(context, comm);
    code = run_helper(arguments, library);
  }
  if (gyre_comm_destroy(comm) != GYRE_OK) return complain(gyre_last_error());
  return code;
}

}  // namespace

int run_rank(int argc, char** argv) {
  die_with_parent();
  HelperArguments arguments;
  std::string error;
  if (!parse_helper_arguments(argc, argv, &arguments, &error)) return complain(error);
  gyre_context_t context = nullptr;
  if (gyre_context_create(nullptr, &context) != GYRE_OK) return complain(gyre_last_error());
  gyre_unique_id id{};
  if (arguments.rank == 0) {
    if (gyre_get_unique_id(context, &id) != GYRE_OK) return complain(gyre_last_error());
    if (!publish_id(arguments.directory, id)) return complain("writing the unique id failed");
  } else if (!await_id(arguments.directory, &id)) {
    return complain("rank 0 has written no unique id");
  }
  const int code = serve_rank(context, id, arguments);
  if (gyre_context_destroy(context) != GYRE_OK) return complain(gyre_last_error());
  return code;
}

int run_rank_threads(int argc, char** argv) {
  die_with_parent();
  HelperArguments arguments;
  std::string error;
  if (!parse_helper_arguments(argc, argv, &arguments, &error)) return complain(error);
  if (arguments.size < 1) return complain("--size N is missing");
  gyre_context_t context = nullptr;
  gyre_unique_id id{};
  if (gyre_context_create(nullptr, &context) != GYRE_OK ||
      gyre_get_unique_id(context, &id) != GYRE_OK)
    return complain(gyre_last_error());
  std::vector<int> codes(static_cast<unsigned>(arguments.size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < arguments.size; ++rank)
    threads.emplace_back([&, rank] {
      HelperArguments own = arguments;
      own.rank = rank;
      codes[static_cast<unsigned>(rank)] = serve_rank(context, id, own);
    });
  for (auto& thread : threads) thread.join();
  if (gyre_context_destroy(context) != GYRE_OK) return complain(gyre_last_error());
  for (const int code : codes)
    if (code != 0) return code;
  return 0;
}

}  // namespace gyre::bench
