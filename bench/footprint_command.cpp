#include "bench/footprint_command.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gyre/gyre.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.hpp"
#include "bench/options.hpp"
#include "bench/statistics.hpp"
#include "schedules/table.hpp"

namespace gyre::bench {
namespace {

constexpr int ranks_limit = 64;
constexpr double mib = 1 << 20;
constexpr Nanoseconds deadline_ns = 120'000 * nanoseconds_per_ms;
constexpr useconds_t poll_us = 50;

/// What the processes of one job share; each writes its own place.
struct Board {
  std::atomic<int> id_is_there{0};
  gyre_unique_id id{};
  std::atomic<int> arrived{0};
  struct Place {
    Nanoseconds entered = 0;
    Nanoseconds finished = 0;
    double pss_before = 0;
    double pss_after = 0;
    char error[256] = {};
  };
  std::array<Place, ranks_limit> places;
};

/// A rank: forked, alone with the board.
struct Job {
  Board& board;
  int rank;
  int ranks;

  Board::Place& place() const { return board.places[static_cast<std::size_t>(rank)]; }

  [[noreturn]] void fail(const char* what) const {
    std::snprintf(place().error, sizeof place().error, "%s: %s", what, gyre_last_error());
    ::_exit(1);
  }
  void require(gyre_status status, const char* what) const {
    if (status != GYRE_OK) fail(what);
  }

  /// Rank 0 makes the id, the others wait for it.
  gyre_comm_t join(gyre_context_t context) const {
    if (rank == 0) {
      require(gyre_get_unique_id(context, &board.id), "gyre_get_unique_id");
      board.id_is_there = 1;
    }
    while (board.id_is_there == 0) ::usleep(poll_us);
    gyre_comm_t comm = nullptr;
    require(gyre_comm_create(context, &board.id, rank, ranks, nullptr, &comm), "gyre_comm_create");
    return comm;
  }

  /// All ranks are at this place of their programs, which is their `number`th.
  void meet(int number) const {
    ++board.arrived;
    while (board.arrived < number * ranks) ::usleep(poll_us);
  }
};

/// Runs `body` in `ranks` processes. The error of the first that failed, "" if none did.
std::string run_job(int ranks, const std::function<void(const Job&)>& body, Board& board) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      body(Job{board, rank, ranks});
      ::_exit(0);
    }
    if (pid > 0) children.push_back(pid);
  }
  std::string error = static_cast<int>(children.size()) < ranks ? "fork failed" : "";
  const auto end = Deadline::after(monotonic_now(), deadline_ns);
  while (!children.empty()) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended > 0) {
      std::erase(children, ended);
      if (status != 0 && error.empty()) error = "a rank has failed";
    } else {
      ::usleep(poll_us);
    }
    if (error.empty() && end.passed(monotonic_now())) error = "the ranks did not finish in time";
    if (!error.empty())
      for (const pid_t pid : children) ::kill(pid, SIGKILL);
  }
  for (const auto& place : board.places)
    if (place.error[0] != '\0') return place.error;
  return error;
}

/// Bytes: the process's private memory and its share of what others map too.
double pss_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string word;
  while (rollup >> word)
    if (word == "Pss:") {
      double kib = 0;
      rollup >> kib;
      return kib * 1024;
    }
  return 0;
}

void start_up(const Job& job) {
  job.place().entered = monotonic_now();
  gyre_context_t context = nullptr;
  job.require(gyre_context_create(nullptr, &context), "gyre_context_create");
  gyre_comm_t comm = job.join(context);
  float values[2] = {1, 2};
  const gyre_buffer buffer{values, GYRE_MEMORY_HOST};
  job.require(
      gyre_all_reduce(comm, buffer, buffer, 2, GYRE_FLOAT32, GYRE_SUM, nullptr, nullptr, nullptr),
      "gyre_all_reduce");
  job.place().finished = monotonic_now();
  job.require(gyre_comm_destroy(comm), "gyre_comm_destroy");
  job.require(gyre_context_destroy(context), "gyre_context_destroy");
}

void reduce_once(const Job& job, std::size_t bytes) {
  gyre_context_t context = nullptr;
  job.require(gyre_context_create(nullptr, &context), "gyre_context_create");
  void* buffers[2] = {};
  for (void*& data : buffers) {
    job.require(gyre_allocate(context, bytes, &data), "gyre_allocate");
    std::memset(data, 0, bytes);
  }
  job.meet(1);
  job.place().pss_before = pss_bytes();
  job.meet(2);
  gyre_comm_t comm = job.join(context);
  job.require(
      gyre_all_reduce(comm, {buffers[0], GYRE_MEMORY_HOST}, {buffers[1], GYRE_MEMORY_HOST},
                      bytes / sizeof(float), GYRE_FLOAT32, GYRE_SUM, nullptr, nullptr, nullptr),
      "gyre_all_reduce");
  job.meet(3);
  job.place().pss_after = pss_bytes();
  job.meet(4);
  job.require(gyre_comm_destroy(comm), "gyre_comm_destroy");
  for (void* data : buffers) job.require(gyre_free(context, data), "gyre_free");
  job.require(gyre_context_destroy(context), "gyre_context_destroy");
}

struct BoardMemory {
  BoardMemory()
      : data(::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0)) {}
  ~BoardMemory() {
    if (data != MAP_FAILED) ::munmap(data, sizeof(Board));
  }
  BoardMemory(const BoardMemory&) = delete;
  BoardMemory& operator=(const BoardMemory&) = delete;
  void* data;
};

struct Footprint {
  std::string library;
  double library_bytes = 0;
  std::vector<double> starts_ms;
  std::vector<std::pair<std::string, double>> memory;  ///< algorithm, bytes per rank
};

/// "" or what went wrong.
std::string measure(int ranks, int starts, std::size_t bytes, Footprint& found) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&gyre_version), &info) != 0 && info.dli_fname) {
    std::error_code error;
    const auto path = std::filesystem::canonical(info.dli_fname, error);
    found.library = path.filename().string();
    found.library_bytes = static_cast<double>(std::filesystem::file_size(path, error));
  }
  const BoardMemory memory;
  if (memory.data == MAP_FAILED) return "no memory to share with the ranks";
  for (int start = 0; start < starts; ++start) {
    Board& board = *new (memory.data) Board;
    if (auto error = run_job(ranks, start_up, board); !error.empty()) return error;
    Nanoseconds first = board.places[0].entered, last = board.places[0].finished;
    for (int rank = 1; rank < ranks; ++rank) {
      first = std::min(first, board.places[static_cast<std::size_t>(rank)].entered);
      last = std::max(last, board.places[static_cast<std::size_t>(rank)].finished);
    }
    found.starts_ms.push_back(static_cast<double>(last - first) / nanoseconds_per_ms);
  }
  for (const auto& schedule : schedules::schedule_table) {
    if (schedule.collective != Collective::all_reduce) continue;
    const std::string name(schedule.algorithm);
    ::setenv("GYRE_ALGORITHM", name.c_str(), 1);
    Board& board = *new (memory.data) Board;
    if (auto error = run_job(
            ranks, [&](const Job& job) { reduce_once(job, bytes); }, board);
        !error.empty())
      return name + ": " + error;
    double grown = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto& place = board.places[static_cast<std::size_t>(rank)];
      grown += place.pss_after - place.pss_before;
    }
    found.memory.emplace_back(name, grown / ranks);
  }
  return "";
}

void print(const Footprint& found, int ranks, std::size_t bytes) {
  fmt::print("# gyre-bench footprint: gyre {}, {} ranks (processes)\n", gyre_version(), ranks);
  fmt::print("library    {:.2f} MiB  {}\n", found.library_bytes / mib, found.library);
  if (!found.starts_ms.empty()) {
    const auto [least, most] = std::minmax_element(found.starts_ms.begin(), found.starts_ms.end());
    fmt::print(
        "start-up   {:.1f} ms  median of {} ({:.1f} to {:.1f}): the first rank's first call to the "
        "last rank's first 8 B all_reduce\n",
        median(found.starts_ms), found.starts_ms.size(), *least, *most);
  }
  fmt::print("memory     per communicator and rank (growth of Pss) after an all_reduce of {} MiB\n",
             static_cast<double>(bytes) / mib);
  for (const auto& [name, grown] : found.memory)
    fmt::print("           {:.2f} MiB  {}\n", grown / mib, name);
}

bool write(const Footprint& found, int ranks, std::size_t bytes, const std::string& path) {
  nlohmann::ordered_json json = {
      {"version", gyre_version()},      {"ranks", ranks},
      {"library", found.library},       {"library_bytes", found.library_bytes},
      {"start_up_ms", found.starts_ms}, {"all_reduce_bytes", bytes},
  };
  for (const auto& [name, grown] : found.memory) json["memory_bytes_per_rank"][name] = grown;
  std::ofstream file(path);
  file << json.dump(1) << '\n';
  return static_cast<bool>(file.flush());
}

}  // namespace

int run_footprint(std::span<const std::string> arguments) {
  CLI::App app("What gyre costs beside time: memory, start-up, the library's size.",
               "gyre-bench footprint");
  int ranks = 8;
  int starts = 20;
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::string json;
  app.add_option("-n,--ranks", ranks, "processes")
      ->capture_default_str()
      ->check(CLI::Range(1, ranks_limit));
  app.add_option("--starts", starts, "how often a job is started")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  app.add_option("-b,--bytes", bytes, "of the all_reduce that fills the slots")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{4}, std::uint64_t{1} << 32));
  app.add_option("--json", json, "write everything to this file too");
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  Footprint found;
  if (const auto error = measure(ranks, starts, bytes / 4 * 4, found); !error.empty()) {
    fmt::print(stderr, "gyre-bench: footprint: {}\n", error);
    return exit_failed;
  }
  print(found, ranks, bytes);
  if (!json.empty() && !write(found, ranks, bytes, json)) {
    fmt::print(stderr, "gyre-bench: cannot write {}\n", json);
    return exit_failed;
  }
  return exit_ok;
}

}  // namespace gyre::bench
