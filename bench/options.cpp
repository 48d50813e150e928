#include "bench/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace gyre::bench {
namespace {

template <typename Row>
std::string names_of(const Row& rows) {
  std::string names;
  for (const auto& row : rows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

struct Alias {
  std::string_view name;
  DataType type;
};
constexpr Alias aliases[] = {
    {"float32", DataType::float32}, {"fp32", DataType::float32},    {"float64", DataType::float64},
    {"fp64", DataType::float64},    {"float16", DataType::float16}, {"fp16", DataType::float16},
    {"bf16", DataType::bfloat16},
};

constexpr std::string_view footer =
    "nccl-tests' flags mean what they mean there, with these differences: -n is the number of "
    "ranks on\nthis machine (iterations are --iters), -r rotates the root unless one is given, and "
    "sizes default\nto 8..256M by factors of 2.\n\n"
    "Exit code: 0 done, 1 wrong elements, 2 bad command line, 3 comparison incomplete, 4 slower "
    "than\n--fail-under, 5 gyre could not finish.";

/// Text forms of the options that need more than CLI11's own conversions.
struct RawText {
  std::string begin = "8";
  std::string end = "256M";
  std::string step;
  std::string dtype = "float";
  std::string op = "sum";
  std::string root = "rotate";
  std::string self_test = "none";
  int check = 1;
  int blocking = 1;
  bool out_of_place_only = false;
  bool no_limits = false;
};

void add_flags(CLI::App& app, Options& o, RawText& raw) {
  app.add_option("-n,--ranks", o.ranks, "ranks to start on this machine [2]")
      ->check(CLI::Range(1, helper_ranks_max));
  app.add_option("-b,--minbytes", raw.begin, "smallest size, such as 8, 64K, 1M [8]");
  app.add_option("-e,--maxbytes", raw.end, "largest size [256M]");
  auto* step = app.add_option("-i,--stepbytes", raw.step, "sizes grow by this many bytes");
  app.add_option("-f,--stepfactor", o.step_factor, "sizes grow by this factor [2]")
      ->check(CLI::Range(1.01, 1024.0))
      ->excludes(step);
  app.add_option("--iters", o.iterations, "calls in a turn [as many as fill --turn-ms]")
      ->check(CLI::Range(std::uint64_t{1}, iterations_max));
  app.add_option("-w,--warmup_iters", o.warm_up, "calls before a turn's clock [up to 5]")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("-c,--check", raw.check, "1: verify every element after every turn; 0: don't [1]")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("-o,--op", raw.op, "operator: " + names_of(reduce_ops) + " or all [sum]");
  app.add_option("-d,--datatype", raw.dtype,
                 "element type: " + names_of(data_types) + " or all [float]");
  app.add_option("-r,--root", raw.root, "root of a broadcast: a rank, or rotate [rotate]");
  app.add_option("-z,--blocking", raw.blocking, "0: start with a handle, then wait on it [1]")
      ->check(CLI::Range(0, 1));
  app.add_flag("--out-of-place", raw.out_of_place_only, "leave the in-place half out");
  app.add_flag("--no-limits", raw.no_limits, "don't measure the machine's limits first");
  app.add_flag("--threads", o.threads, "ranks are threads of one process");
  app.add_flag("--registered", o.registered,
               "buffers from gyre's own memory; peers use MPI_Alloc_mem");
  app.add_flag("--untouched", o.untouched,
               "don't rewrite inputs and read outputs between calls, as nccl-tests does not");
  app.add_option("--vs", o.peers,
                 "compare with these peers: openmpi, mpich, gloo, impi, openmpi5, mpich5")
      ->delimiter(',');
  app.add_option("--pairs", o.pairs, "turns of each library per size [5]")
      ->check(CLI::Range(1, 1000));
  app.add_option("--turn-ms", o.turn_ms, "how long a turn should last at least [20]")
      ->check(CLI::Range(1, 60'000));
  app.add_option("--timeout-ms", o.timeout_ms, "deadline of one turn [60000]")
      ->check(CLI::Range(100u, deadline_ms_max));
  app.add_option("-J,--json,--output_file", o.json, "write everything to this file");
  app.add_option("--plot", o.plot, "draw latency and bandwidth over size to this SVG file");
  app.add_option("--fail-under", o.fail_under,
                 "exit with 4 if any ratio peer's time / gyre's time is below this")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--self-test", raw.self_test,
                 "prove that a fault is noticed: flip-bit damages one rank's output, spin-peer "
                 "makes a peer\nburn CPU during gyre's turns")
      ->check(CLI::IsMember({"none", "flip-bit", "spin-peer"}));
}

Status read_root(const std::string& text, Options& o) {
  if (text == "rotate") return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), o.root);
  if (error == std::errc{} && end == text.data() + text.size() && o.root >= 0 && o.root < o.ranks)
    return {};
  return {Code::invalid_argument,
          fmt::format("-r {}: not a rank; give 0 to {}, or rotate", text, o.ranks - 1)};
}

Status read_sizes(const RawText& raw, Options& o) {
  const auto begin = parse_size(raw.begin);
  if (!begin) return begin.status().within("-b");
  const auto end = parse_size(raw.end);
  if (!end) return end.status().within("-e");
  o.bytes_min = *begin;
  o.bytes_max = *end;
  if (o.bytes_min > o.bytes_max)
    return {Code::invalid_argument,
            fmt::format("-b {} is larger than -e {}: give -e of at least -b", raw.begin, raw.end)};
  if (raw.step.empty()) return {};
  const auto step = parse_size(raw.step);
  if (!step) return step.status().within("-i");
  o.step_bytes = *step;
  if (o.step_bytes == 0) return {Code::invalid_argument, "-i 0: sizes would not grow"};
  return {};
}

Status read_combinations(const RawText& raw, Options& o) {
  o.check = raw.check != 0;
  o.blocking = raw.blocking != 0;
  o.in_place = !raw.out_of_place_only;
  o.limits = !raw.no_limits;
  if (raw.self_test == "flip-bit") o.self_test = SelfTest::flip_bit;
  if (raw.self_test == "spin-peer") o.self_test = SelfTest::spin_peer;
  if (o.self_test == SelfTest::spin_peer && o.peers.empty())
    return {Code::invalid_argument, "--self-test spin-peer needs a peer: add --vs openmpi"};
  if (o.self_test == SelfTest::flip_bit && !o.check)
    return {Code::invalid_argument, "--self-test flip-bit needs verification: leave -c 0 out"};
  if (o.threads && !o.peers.empty())
    return {Code::invalid_argument,
            "--threads and --vs: peers' ranks are processes, and threads beside processes would "
            "not be compared fairly; leave one of them out"};
  if (!o.blocking && !o.peers.empty())
    return {Code::invalid_argument, "-z 0 and --vs: peers are called blocking; leave one out"};
  if (!o.plot.empty() && o.json.empty())
    return {Code::invalid_argument, "--plot draws the --json file: add --json FILE"};
  std::set<std::string> seen;
  for (const auto& peer : o.peers)
    if (!seen.insert(peer).second)
      return {Code::invalid_argument, fmt::format("--vs names {} twice", peer)};
  return {};
}

Status read_options(const RawText& raw, Options& o) {
  if (auto status = read_sizes(raw, o); !status) return status;
  auto dtypes = parse_dtypes(raw.dtype);
  if (!dtypes) return dtypes.status();
  o.dtypes = *dtypes;
  auto ops = parse_ops(raw.op);
  if (!ops) return ops.status();
  o.ops = *ops;
  const bool reduces =
      o.collective == Collective::all_reduce || o.collective == Collective::reduce_scatter;
  if (!reduces) o.ops = {ReduceOp::sum};
  if (auto status = read_root(raw.root, o); !status) return status;
  if (auto status = read_combinations(raw, o); !status) return status;
  for (const DataType dtype : o.dtypes)
    if (const auto sizes = sizes_of(o, dtype); !sizes) return sizes.status();
  return {};
}

/// CLI11's own words for an unknown flag don't name the fix.
std::string worded(const CLI::Error& error, const CLI::App& app) {
  std::string text = error.what();
  const std::string unexpected = "The following argument was not expected: ";
  const std::string unexpected_many = "The following arguments were not expected: ";
  for (const auto& prefix : {unexpected, unexpected_many})
    if (text.rfind(prefix, 0) == 0) text = "unknown argument " + text.substr(prefix.size());
  const auto chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
  return fmt::format("gyre-bench: {}\n`gyre-bench{} --help` lists what there is.\n", text, command);
}

/// CLI11 would only say that a subcommand is missing.
std::string unknown_command(int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  std::string known;
  for (const auto& row : collective_table) {
    if (row.name == argv[1]) return "";
    if (row.collective != Collective::barrier) known += fmt::format("{}, ", row.name);
  }
  return fmt::format("gyre-bench: unknown command {}; there are {}kernels, footprint\n", argv[1],
                     known);
}

}  // namespace

ParsedLine parse_line(int argc, const char* const* argv) {
  CLI::App app{"Measures gyre's collectives, beside other libraries, on this machine.",
               "gyre-bench"};
  app.require_subcommand(1);
  app.footer(
      "`gyre-bench kernels` measures the copy and reduce kernels beside the memory limit,\n"
      "`gyre-bench footprint` memory, start-up time and the library's size.");
  ParsedLine line;
  if (line.text = unknown_command(argc, argv); !line.text.empty()) {
    line.exit_code = exit_usage;
    return line;
  }
  RawText raw;
  for (const auto& row : collective_table) {
    if (row.collective == Collective::barrier) continue;
    auto* sub = app.add_subcommand(std::string(row.name), "measure " + std::string(row.name));
    add_flags(*sub, line.options, raw);
    sub->footer(std::string(footer));
    sub->callback([&line, &row] { line.options.collective = row.collective; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
    return line;
  } catch (const CLI::Error& error) {
    line.text = worded(error, app);
    line.exit_code = exit_usage;
    return line;
  }
  if (const auto status = read_options(raw, line.options); !status) {
    line.text = fmt::format("gyre-bench: {}\n", status.message());
    line.exit_code = exit_usage;
    return line;
  }
  line.run = true;
  return line;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return Status(Code::invalid_argument,
                  fmt::format("size '{}': {}; give bytes, or a number with K, M or G", text, why));
  };
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || text.empty()) return wrong("no number");
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.size() == 2 && (unit[1] == 'B' || unit[1] == 'b')) unit.remove_suffix(1);
  int shift = 0;
  if (unit == "K" || unit == "k")
    shift = 10;
  else if (unit == "M" || unit == "m")
    shift = 20;
  else if (unit == "G" || unit == "g")
    shift = 30;
  else if (!unit.empty())
    return wrong("unknown unit");
  const double bytes = std::ldexp(number, shift);
  if (!(bytes >= 0) || bytes > static_cast<double>(buffer_bytes_max)) return wrong("out of range");
  if (bytes != std::floor(bytes)) return wrong("not a whole number of bytes");
  return static_cast<std::uint64_t>(bytes);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"", "K", "M", "G"};
  for (int u = 3; u > 0; --u) {
    const std::uint64_t unit = std::uint64_t{1} << (10 * u);
    if (bytes < unit || bytes * 4 % unit != 0) continue;
    return fmt::format("{:g}{}", static_cast<double>(bytes) / static_cast<double>(unit), units[u]);
  }
  return std::to_string(bytes);
}

Result<std::vector<DataType>> parse_dtypes(std::string_view text) {
  std::vector<DataType> found;
  for (const auto& row : data_types)
    if (text == row.name || text == "all") found.push_back(row.type);
  for (const auto& alias : aliases)
    if (text == alias.name) found.push_back(alias.type);
  if (!found.empty()) return found;
  return Status(
      Code::invalid_argument,
      fmt::format("-d {}: unknown element type; there are {}, all", text, names_of(data_types)));
}

Result<std::vector<ReduceOp>> parse_ops(std::string_view text) {
  std::vector<ReduceOp> found;
  for (const auto& row : reduce_ops)
    if (text == row.name || text == "all") found.push_back(row.op);
  if (!found.empty()) return found;
  return Status(Code::invalid_argument, fmt::format("-o {}: unknown operator; there are {}, all",
                                                    text, names_of(reduce_ops)));
}

std::uint64_t count_of(Collective collective, DataType dtype, std::uint64_t bytes, int ranks) {
  const bool shared =
      collective == Collective::reduce_scatter || collective == Collective::all_gather;
  return bytes / size_of(dtype) / (shared ? static_cast<unsigned>(ranks) : 1u);
}

Result<std::vector<std::uint64_t>> sizes_of(const Options& o, DataType dtype) {
  const bool shared =
      o.collective == Collective::reduce_scatter || o.collective == Collective::all_gather;
  const std::uint64_t grain = size_of(dtype) * (shared ? static_cast<unsigned>(o.ranks) : 1u);
  std::vector<std::uint64_t> sizes;
  std::size_t steps = 0;
  double exact = static_cast<double>(o.bytes_min);
  while (exact <= static_cast<double>(o.bytes_max)) {
    if (++steps > sizes_max)
      return Status(Code::invalid_argument,
                    fmt::format("more than {} sizes: give a larger -i or -f", sizes_max));
    const std::uint64_t bytes = static_cast<std::uint64_t>(exact) / grain * grain;
    if (bytes > 0 && (sizes.empty() || bytes > sizes.back())) sizes.push_back(bytes);
    if (o.step_bytes > 0)
      exact += static_cast<double>(o.step_bytes);
    else
      exact = std::max(exact * o.step_factor, exact + 1);
  }
  if (!sizes.empty()) return sizes;
  return Status(Code::invalid_argument,
                fmt::format("-e {}: no whole elements for {} ranks; give at least {}",
                            size_text(o.bytes_max), o.ranks, grain));
}

}  // namespace gyre::bench
