// What ranks are told when something goes wrong: a differing call, a rank that dies, stops, never
// comes, or aborts.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/collectives/ranks.hpp"

namespace gyre::test {
namespace {

using Catch::Matchers::ContainsSubstring;

gyre_status all_reduce(const Rank& rank, std::vector<float>& values,
                       gyre_request_t* request = nullptr) {
  const gyre_buffer buffer{values.data(), GYRE_MEMORY_AUTO};
  return gyre_all_reduce(rank.comm, buffer, buffer, values.size(), GYRE_FLOAT32, GYRE_SUM, nullptr,
                         nullptr, request);
}

/// "" if the call ended with `status`, named `culprit` and said `words`.
std::string expect(gyre_status got, gyre_status status, int culprit, const std::string& words) {
  const std::string text = gyre_last_error();
  if (got != status) return fmt::format("status {}: {}", gyre_status_name(got), text);
  if (gyre_error_rank() != culprit)
    return fmt::format("names rank {}: {}", gyre_error_rank(), text);
  if (text.find(words) == std::string::npos) return "says: " + text;
  return "";
}

}  // namespace

TEST_CASE("ranks that call different things are told both calls") {
  for (const std::size_t more : {0u, 20'000u}) {
    require_all_well(run_processes(
        3,
        [&](const Rank& rank) {
          std::vector<float> values((rank.rank == 2 ? 5 : 4) + more, 1.0f);
          // Either side may notice first; both calls are quoted in any case.
          const gyre_status status = all_reduce(rank, values);
          const std::string text = gyre_last_error();
          if (status != GYRE_MISMATCH) return "not noticed: " + text;
          for (const std::size_t count : {4 + more, 5 + more}) {
            const std::string quoted = fmt::format("all_reduce of {} float, sum", count);
            if (text.find(quoted) == std::string::npos) return "says: " + text;
          }
          return std::string();
        },
        {.destroys = false}));
  }
}

TEST_CASE("a rank that never comes is named at the deadline") {
  require_all_well(run_processes(3,
                                 [](const Rank& rank) -> std::string {
                                   std::vector<float> values(10, 1.0f);
                                   if (rank.rank == 1) {
                                     sleep(2);
                                     return "";
                                   }
                                   return expect(all_reduce(rank, values), GYRE_TIMEOUT, 1,
                                                 "rank 1 did not enter it");
                                 },
                                 {.timeout_ms = 300, .destroys = false}));
}

TEST_CASE("a rank that has left is named at once by who waits for it") {
  const auto body = [](const Rank& rank) -> std::string {
    std::vector<float> values(100'000, 1.0f);
    const gyre_status status = all_reduce(rank, values);
    if (status != GYRE_OK) return complain("gyre_all_reduce", status);
    if (rank.rank == 1) return complain("gyre_comm_destroy", gyre_comm_destroy(rank.comm));
    const auto begin = std::chrono::steady_clock::now();
    std::string complaint =
        expect(all_reduce(rank, values), GYRE_PEER_FAILED, 1, "which has left the communicator");
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(5)) complaint += " late";
    return complaint;
  };
  require_all_well(run_processes(3, body, {.destroys = false}));
}

TEST_CASE("a rank that dies is named to all others") {
  for (const std::size_t count : {1u, 3'000'000u}) {
    const auto complaints = run_processes(4,
                                          [&](const Rank& rank) -> std::string {
                                            std::vector<float> values(count, 1.0f);
                                            gyre_status status = all_reduce(rank, values);
                                            if (status != GYRE_OK)
                                              return complain("first all_reduce", status);
                                            if (rank.rank == 2) kill(getpid(), SIGKILL);
                                            return expect(all_reduce(rank, values),
                                                          GYRE_PEER_FAILED, 2, "rank 2 has died");
                                          },
                                          {.destroys = false});
    CHECK(complaints[2] == "killed by signal 9");
    for (const int survivor : {0, 1, 3})
      CHECK(complaints[static_cast<std::size_t>(survivor)].empty());
  }
}

TEST_CASE("rank 0's death is named like any other") {
  const auto complaints = run_processes(3,
                                        [&](const Rank& rank) -> std::string {
                                          std::vector<float> values(100, 1.0f);
                                          if (rank.rank == 0) kill(getpid(), SIGKILL);
                                          return expect(all_reduce(rank, values), GYRE_PEER_FAILED,
                                                        0, "rank 0 has died");
                                        },
                                        {.destroys = false});
  CHECK(complaints[1].empty());
  CHECK(complaints[2].empty());
}

TEST_CASE("a rank that is stopped in the middle is named at the deadline") {
  // On the ring most ranks wait for one that itself waits: the chain's end has to be found.
  const auto complaints =
      run_processes(4,
                    [](const Rank& rank) -> std::string {
                      std::vector<std::int32_t> processes(4);
                      std::int32_t self = getpid();
                      gyre_status status = gyre_all_gather(rank.comm, {&self, GYRE_MEMORY_AUTO},
                                                           {processes.data(), GYRE_MEMORY_AUTO}, 1,
                                                           GYRE_INT32, nullptr, nullptr, nullptr);
                      if (status != GYRE_OK) return complain("gyre_all_gather", status);
                      std::vector<float> values(1'000'000, 1.0f);
                      for (int i = 0; status == GYRE_OK; ++i) {
                        if (rank.rank == 0 && i == 5) kill(processes[1], SIGSTOP);
                        status = all_reduce(rank, values);
                      }
                      std::string complaint = expect(status, GYRE_TIMEOUT, 1, "rank 1 did not");
                      if (rank.rank == 0) kill(processes[1], SIGKILL);
                      return complaint;
                    },
                    {.timeout_ms = 500, .destroys = false}, {"GYRE_ALGORITHM=ring"});
  for (const std::size_t survivor : {0u, 2u, 3u}) CHECK(complaints[survivor] == "");
  CHECK(complaints[1] == "killed by signal 9");
}

TEST_CASE("abort ends every rank's operation at once") {
  run_threads(3, [](const Rank& rank) -> std::string {
    std::vector<float> values(10, 1.0f);
    if (rank.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const gyre_status status = gyre_comm_abort(rank.comm);
      if (status != GYRE_OK) return complain("gyre_comm_abort", status);
      return expect(gyre_comm_error(rank.comm), GYRE_ABORTED, 1, "rank 1 aborted");
    }
    const auto began = std::chrono::steady_clock::now();
    const std::string complaint =
        expect(all_reduce(rank, values), GYRE_ABORTED, 1, "rank 1 aborted");
    if (std::chrono::steady_clock::now() - began > std::chrono::seconds(5)) return "took too long";
    return complaint;
  });
}

TEST_CASE("a communicator that has failed refuses further calls with the same reason") {
  run_threads(2, [](const Rank& rank) -> std::string {
    static_cast<void>(gyre_comm_abort(rank.comm));
    std::vector<float> values(10, 1.0f);
    if (all_reduce(rank, values) != GYRE_ABORTED) return "the call was not refused";
    if (std::string(gyre_last_error()).find("aborted") == std::string::npos) return "no reason";
    return gyre_comm_error(rank.comm) == GYRE_ABORTED ? "" : "gyre_comm_error says ok";
  });
}

TEST_CASE("bad calls are refused and harm nothing") {
  run_threads(2, [](const Rank& rank) -> std::string {
    std::vector<float> values(10, 1.0f);
    const gyre_buffer null{nullptr, GYRE_MEMORY_AUTO};
    const gyre_buffer good{values.data(), GYRE_MEMORY_AUTO};
    const gyre_buffer bad_kind{values.data(), static_cast<gyre_memory_kind>(9)};
    gyre_options no_size{};
    const auto refused = [&](gyre_status got, const char* words) {
      return expect(got, GYRE_INVALID_ARGUMENT, -1, words);
    };
    std::string complaint = refused(gyre_all_reduce(rank.comm, null, good, 10, GYRE_FLOAT32,
                                                    GYRE_SUM, nullptr, nullptr, nullptr),
                                    "send is null");
    complaint += refused(gyre_all_reduce(rank.comm, good, good, 10, GYRE_FLOAT32, GYRE_SUM, nullptr,
                                         &no_size, nullptr),
                         "struct_bytes");
    complaint += refused(
        gyre_all_reduce(nullptr, good, good, 10, GYRE_FLOAT32, GYRE_SUM, nullptr, nullptr, nullptr),
        "communicator is NULL");
    complaint += expect(gyre_all_reduce(rank.comm, bad_kind, good, 10, GYRE_FLOAT32, GYRE_SUM,
                                        nullptr, nullptr, nullptr),
                        GYRE_UNSUPPORTED, -1, "memory kind 9");
    gyre_request_t none = nullptr;
    complaint += refused(gyre_wait(&none), "request is NULL");
    if (!complaint.empty()) return complaint;
    if (const gyre_status status = all_reduce(rank, values); status != GYRE_OK)
      return complain("all_reduce after refused calls", status);
    return values[9] == 2.0f ? "" : "wrong sum after refused calls";
  });
}

TEST_CASE("a communicator with requests in flight is not destroyed") {
  run_threads(2, [](const Rank& rank) -> std::string {
    std::vector<float> values(10, 1.0f);
    gyre_request_t request = nullptr;
    if (const gyre_status status = all_reduce(rank, values, &request); status != GYRE_OK)
      return complain("all_reduce", status);
    std::string complaint = expect(gyre_comm_destroy(rank.comm), GYRE_INVALID_ARGUMENT, -1,
                                   "1 requests have not been waited for");
    if (const gyre_status status = gyre_wait(&request); status != GYRE_OK)
      complaint += complain("gyre_wait", status);
    return complaint;
  });
}

TEST_CASE("a forked child is told that the context is its parent's") {
  gyre_context_t context = nullptr;
  REQUIRE(gyre_context_create(nullptr, &context) == GYRE_OK);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  if (fork() == 0) {
    gyre_unique_id id;
    const bool told = gyre_get_unique_id(context, &id) == GYRE_INVALID_ARGUMENT &&
                      std::string(gyre_last_error()).find("forked") != std::string::npos;
    const char answer = told ? 'y' : 'n';
    _exit(write(ends[1], &answer, 1) == 1 ? 0 : 1);
  }
  char answer = 0;
  REQUIRE(read(ends[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  close(ends[0]);
  close(ends[1]);
  CHECK(gyre_context_destroy(context) == GYRE_OK);
}

TEST_CASE("memory is registered and given back by the calls that fit") {
  gyre_context_t context = nullptr;
  REQUIRE(gyre_context_create(nullptr, &context) == GYRE_OK);
  void* data = nullptr;
  REQUIRE(gyre_allocate(context, 100, &data) == GYRE_OK);
  CHECK(gyre_context_destroy(context) == GYRE_INVALID_ARGUMENT);
  CHECK_THAT(gyre_last_error(), ContainsSubstring("gyre_free"));
  CHECK(gyre_deregister(context, data) == GYRE_INVALID_ARGUMENT);
  CHECK_THAT(gyre_last_error(), ContainsSubstring("use gyre_free"));
  CHECK(gyre_free(context, static_cast<char*>(data) + 1) == GYRE_INVALID_ARGUMENT);
  CHECK(gyre_free(context, data) == GYRE_OK);
  CHECK(gyre_free(context, data) == GYRE_INVALID_ARGUMENT);
  alignas(4096) static char plain[4096];
  CHECK(gyre_register(context, plain, sizeof plain, STDIN_FILENO, 0) != GYRE_OK);
  CHECK(gyre_context_destroy(context) == GYRE_OK);
}

}  // namespace gyre::test
