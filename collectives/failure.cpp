#include "collectives/failure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/call.hpp"

namespace gyre::collectives {

namespace {

std::string mismatch_text(const transport::Failure& failure) {
  const Header theirs{{failure.header[0][0], failure.header[0][1]}};
  const Header ours{{failure.header[1][0], failure.header[1][1]}};
  return fmt::format(
      "operation {}: rank {} called {}, but rank {} called {}; every rank must make the same calls "
      "with the same arguments in the same order",
      failure.sequence, failure.rank, describe(theirs), failure.reporter, describe(ours));
}

std::string timeout_text(const transport::Failure& failure, const std::vector<int>& missing) {
  if (!missing.empty()) {
    return fmt::format(
        "operation {}: rank {} did not enter it before rank {}'s deadline; look what it is doing, "
        "or "
        "raise the timeout (GYRE_TIMEOUT_MS)",
        failure.sequence, fmt::join(missing, ", "), failure.reporter);
  }
  return fmt::format(
      "operation {}: every rank entered it, but rank {} did not go on before rank {}'s deadline; "
      "it "
      "may be stopped, or the timeout (GYRE_TIMEOUT_MS) too short for this size",
      failure.sequence, failure.rank, failure.reporter);
}

std::string text_of(const transport::Failure& failure, const std::vector<int>& missing) {
  switch (failure.code) {
    case Code::mismatch: return mismatch_text(failure);
    case Code::timeout: return timeout_text(failure, missing);
    case Code::peer_failed:
      // A death is not known by an operation.
      if (failure.sequence > 0)
        return fmt::format(
            "operation {}: rank {} waits for rank {}, which has left the communicator "
            "(gyre_comm_destroy) without this call; every rank must make the same calls",
            failure.sequence, failure.reporter, failure.rank);
      return fmt::format(
          "rank {} has died: its process ended or its connection closed; look at its own output "
          "for "
          "the reason. The communicator can only be destroyed",
          failure.rank);
    case Code::aborted: return fmt::format("rank {} aborted the communicator", failure.reporter);
    case Code::out_of_resources:
      return fmt::format(
          "operation {}: rank {} could not map the memory of rank {}; check the limits "
          "on mappings (vm.max_map_count) and open files",
          failure.sequence, failure.reporter, failure.rank);
    default:
      return fmt::format("operation {}: {} on rank {}", failure.sequence, name_of(failure.code),
                         failure.rank);
  }
}

}  // namespace

Status explain(const transport::Failure& failure, const std::vector<int>& missing) {
  return Status(failure.code, text_of(failure, missing), failure.rank);
}

}  // namespace gyre::collectives
