#include "bench/collective_command.hpp"

#include <fmt/format.h>
#include <gyre/gyre.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "base/cpu_caches.hpp"
#include "bench/child_process.hpp"
#include "bench/interrupt.hpp"
#include "bench/limits.hpp"
#include "bench/machine.hpp"
#include "bench/memory_budget.hpp"
#include "bench/options.hpp"
#include "bench/peer_field.hpp"
#include "bench/progress.hpp"
#include "bench/report_json.hpp"
#include "bench/session.hpp"
#include "bench/table.hpp"

namespace gyre::bench {
namespace {

constexpr std::uint32_t plot_timeout_ms = 120'000;

void print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

int complain(const Status& status, ExitCode code) {
  fmt::print(stderr, "gyre-bench: {}\n", status.message());
  return code;
}

std::filesystem::path own_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

/// The tables beside the peers' programs, for the peers that the user named.
Result<std::vector<Contender>> find_contenders(const Options& options) {
  if (options.peers.empty()) return std::vector<Contender>();
  const std::string folder = (own_path().parent_path() / "peers").string();
  const std::string table = read_file(folder + "/peers.json");
  if (table.empty())
    return Status(Code::unsupported,
                  fmt::format("--vs: {}/peers.json is missing; run scripts/setup "
                              "and scripts/build",
                              folder));
  const auto peers = parse_peers(table, folder);
  if (!peers) return peers.status();
  const auto variants = parse_variants(read_file(folder + "/variants"));
  if (!variants) return variants.status();
  return contenders_of(options.peers, *peers, *variants);
}

/// bench/plot.py on the JSON file, with the project's own Python where there is one.
Status draw(const Options& options) {
  const auto folder = own_path().parent_path();
  const auto own_python = folder.parent_path().parent_path() / ".venv/bin/python";
  ChildCommand command;
  command.arguments = {std::filesystem::exists(own_python) ? own_python.string() : "python3",
                       (folder / "plot.py").string(), options.json, options.plot};
  const UniqueFd log(::memfd_create("gyre-bench-plot", MFD_CLOEXEC));
  command.log_fd = log.get();
  const auto code = run_child(command, plot_timeout_ms);
  if (!code) return code.status().within("--plot");
  if (*code == 0) return {};
  std::string text(2000, '\0');
  const ssize_t got = ::pread(log.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return {
      Code::unsupported,
      fmt::format("--plot: {} exited with {}; it needs matplotlib, which scripts/setup puts into "
                  ".venv:\n{}",
                  command.arguments[1], *code, text)};
}

/// Of the looks at where the cpus are.
constexpr std::size_t look_batches = 5;
constexpr std::chrono::milliseconds look_pause{30};

std::string scratch_parent() {
  const char* folder = ::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

/// What can't be measured here stays 0, and a note says why.
LimitFigures measure_limits(Report& report) {
  LimitFigures limits;
  const auto& cpus = report.machine.cpus;
  const auto memory =
      measure_memory_limit(cpus, buffers_per_cache * read_cpu_caches(cpus).last_levels);
  if (memory) {
    limits.memory_gbps = memory->best.gb_per_s;
    limits.memory_kernel =
        memory->best.loop + (memory->best.streamed ? ", non-temporal stores" : "");
  } else {
    report.notes.push_back("memory limit: " + memory.status().message());
  }
  if (cpus.size() < 2) return limits;
  const auto round_trip = measure_round_trip_ns(cpus[0], cpus[1]);
  if (round_trip)
    limits.round_trip_us = *round_trip / 1e3;
  else
    report.notes.push_back("round trip: " + round_trip.status().message());
  return limits;
}

/// Measures and prints; the report is filled also where it fails.
Status measure(const Options& options, std::vector<Contender> contenders,
               const Interrupt& interrupt, Report& report) {
  auto scratch = ScratchFolder::make(scratch_parent());
  if (!scratch) return scratch.status();
  SessionInput input;
  input.options = options;
  input.self = own_path().string();
  input.contenders = std::move(contenders);
  input.field.ranks = options.ranks;
  input.field.cpus = report.machine.cpus;
  input.field.scratch = scratch->path();
  input.field.turn_timeout_ms = options.timeout_ms;
  input.field.untouched = options.untouched;
  Progress progress(stderr);
  if (options.limits) progress.show("measuring the machine's limits");
  if (options.limits) input.limits = report.limits = measure_limits(report);
  std::optional<Steadiness> steadiness;
  if (report.limits.round_trip_us > 0) {
    steadiness.emplace(
        [&cpus = report.machine.cpus] {
          const auto now_ns = measure_round_trip_ns(cpus[0], cpus[1], look_batches);
          return now_ns ? *now_ns : 0.0;
        },
        [] { std::this_thread::sleep_for(look_pause); });
    input.steadiness = &*steadiness;
  }
  progress.clear();
  print(header_text(report));
  Session session(
      std::move(input), interrupt, report,
      [&progress](const std::string& text) { progress.show(text); },
      [&](const Row& row) {
        progress.clear();
        print(row_text(report, row));
      });
  session.run();
  return {};
}

}  // namespace

int run_collective(int argc, char** argv) {
  ParsedLine line = parse_line(argc, argv);
  if (!line.run) {
    fmt::print(line.exit_code == 0 ? stdout : stderr, "{}", line.text);
    return line.exit_code;
  }
  Options& options = line.options;
  auto interrupt = Interrupt::make();
  if (!interrupt) return complain(interrupt.status(), exit_failed);
  if (const auto status = adopt_orphans(); !status) return complain(status, exit_failed);
  auto contenders = find_contenders(options);
  if (!contenders) return complain(contenders.status(), exit_usage);
  const auto budget = fit(options, meminfo_bytes(read_file("/proc/meminfo"), "MemAvailable"));
  if (!budget) return complain(budget.status(), exit_usage);
  options.bytes_max = budget->bytes_max;

  const SharedMemoryNames shared_memory;
  Report report;
  report.options = options;
  report.machine = describe_machine(gyre_version());
  if (!budget->note.empty()) report.notes.push_back(budget->note);
  if (!budget->note.empty()) print(fmt::format("# {}\n", budget->note));
  const Status status = measure(options, std::move(*contenders), *interrupt, report);
  shared_memory.remove_new();
  if (!status) return complain(status, exit_failed);
  print(comparison_text(report));
  print(summary_text(report));
  int code = exit_code_of(report);
  if (!options.json.empty())
    if (const auto written = write_json(report, options.json); !written)
      return complain(written, exit_failed);
  if (!options.plot.empty() && !report.rows.empty())
    if (const auto drawn = draw(options); !drawn) code = complain(drawn, exit_failed);
  return code;
}

}  // namespace gyre::bench
