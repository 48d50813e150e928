#include "tests/collectives/ranks.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace gyre::test {

namespace {

constexpr std::size_t complaint_bytes_max = 4096;

std::string with_comm(Rank rank, const gyre_unique_id& id, const Body& body,
                      const RunOptions& options) {
  gyre_comm_options comm_options{};
  comm_options.struct_bytes = sizeof comm_options;
  comm_options.timeout_ms = options.timeout_ms;
  const gyre_status created =
      gyre_comm_create(rank.context, &id, rank.rank, rank.size, &comm_options, &rank.comm);
  if (created != GYRE_OK) return complain("gyre_comm_create", created);
  std::string complaint = body(rank);
  if (options.destroys) {
    const gyre_status destroyed = gyre_comm_destroy(rank.comm);
    if (complaint.empty()) complaint = complain("gyre_comm_destroy", destroyed);
  }
  return complaint;
}

/// Reads until the other end is closed, at most complaint_bytes_max.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 512> buffer;
  ssize_t got = 0;
  while (text.size() < complaint_bytes_max && (got = read(fd, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

void write_all(int fd, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = write(fd, from, bytes);
    if (put <= 0) return;
    from += put;
    bytes -= static_cast<std::size_t>(put);
  }
}

/// The child's whole life.
[[noreturn]] void run_child(int rank, int size, const Body& body, const RunOptions& options,
                            int id_in, const std::vector<int>& id_out, int complaint_out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string complaint;
  Rank self{nullptr, nullptr, rank, size};
  gyre_unique_id id{};
  complaint = complain("gyre_context_create", gyre_context_create(nullptr, &self.context));
  if (complaint.empty() && rank == 0) {
    complaint = complain("gyre_get_unique_id", gyre_get_unique_id(self.context, &id));
    for (const int fd : id_out) write_all(fd, &id, sizeof id);
  } else if (complaint.empty() && read(id_in, &id, sizeof id) != sizeof id) {
    complaint = "no unique id came";
  }
  if (complaint.empty()) complaint = with_comm(self, id, body, options);
  if (options.destroys && complaint.empty())
    complaint = complain("gyre_context_destroy", gyre_context_destroy(self.context));
  write_all(complaint_out, complaint.data(), std::min(complaint.size(), complaint_bytes_max));
  _exit(complaint.empty() ? 0 : 1);
}

struct Pipe {
  int in = -1;
  int out = -1;
  Pipe() {
    int ends[2];
    if (pipe(ends) == 0) {
      in = ends[0];
      out = ends[1];
    }
  }
};

}  // namespace

std::string complain(const char* call, gyre_status status) {
  if (status == GYRE_OK) return "";
  return fmt::format("{}: {}: {}", call, gyre_status_name(status), gyre_last_error());
}

void run_threads(int size, const Body& body, const RunOptions& options) {
  gyre_context_t context = nullptr;
  REQUIRE(gyre_context_create(nullptr, &context) == GYRE_OK);
  gyre_unique_id id{};
  REQUIRE(gyre_get_unique_id(context, &id) == GYRE_OK);
  std::vector<std::string> complaints(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      complaints[static_cast<std::size_t>(rank)] =
          with_comm({context, nullptr, rank, size}, id, body, options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  require_all_well(complaints);
  REQUIRE(gyre_context_destroy(context) == GYRE_OK);
}

std::vector<std::string> run_processes(int size, const Body& body, const RunOptions& options,
                                       const std::vector<std::string>& environment) {
  std::vector<Pipe> ids(static_cast<std::size_t>(size));
  std::vector<Pipe> complaint_pipes(static_cast<std::size_t>(size));
  std::vector<int> id_out;
  for (const Pipe& pipe : ids) id_out.push_back(pipe.out);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (const std::string& entry : environment) putenv(strdup(entry.c_str()));
      const auto self = static_cast<std::size_t>(rank);
      run_child(rank, size, body, options, ids[self].in, id_out, complaint_pipes[self].out);
    }
    children.push_back(child);
  }
  std::vector<std::string> complaints;
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    close(complaint_pipes[rank].out);
    close(ids[rank].in);
    close(ids[rank].out);
  }
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    std::string complaint = read_all(complaint_pipes[rank].in);
    close(complaint_pipes[rank].in);
    int status = 0;
    waitpid(children[rank], &status, 0);
    if (WIFSIGNALED(status)) complaint = fmt::format("killed by signal {}", WTERMSIG(status));
    complaints.push_back(std::move(complaint));
  }
  return complaints;
}

void require_all_well(const std::vector<std::string>& complaints) {
  for (std::size_t rank = 0; rank < complaints.size(); ++rank) {
    INFO("rank " << rank << ": " << complaints[rank]);
    CHECK(complaints[rank].empty());
  }
}

}  // namespace gyre::test
