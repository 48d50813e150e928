#include "bench/kernels_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/cpu_caches.hpp"
#include "bench/kernel_speed.hpp"
#include "bench/limits.hpp"

namespace gyre::bench {
namespace {

using kernels::Store;

constexpr int exit_usage = 2;
constexpr int exit_failed = 5;

struct Level {
  const char* name;
  std::size_t bytes;  // all threads' buffers together
};

/// What is measured: half of each cache, so that it stays in, and a multiple of the last.
std::vector<Level> levels_of(const CpuCaches& caches, std::size_t threads) {
  return {{"L1", caches.first_level / 2 * threads},
          {"L2", caches.second_level / 2 * threads},
          {"LLC", caches.last_levels / 2},
          {"memory", caches.last_levels * buffers_per_cache}};
}

const char* name_of_store(Store store) { return store == Store::streamed ? "streamed" : "regular"; }

/// Copies and fp32 sums in the shapes that schedules use; every type and operator in the commonest.
std::vector<KernelShape> shapes_of(bool all) {
  constexpr std::size_t shapes[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 1}, {4, 4}, {8, 8}};
  std::vector<KernelShape> rows;
  for (const auto& [sources, destinations] : shapes)
    for (const Store store : {Store::regular, Store::streamed})
      rows.push_back({DataType::float32, ReduceOp::sum, sources, destinations, store});
  for (const auto& type : data_types) {
    for (const auto& op : reduce_ops) {
      if (!all) {
        rows.push_back({type.type, op.op, 2, 1, Store::regular});
        continue;
      }
      for (const auto& [sources, destinations] : shapes)
        for (const Store store : {Store::regular, Store::streamed})
          if (sources > 1) rows.push_back({type.type, op.op, sources, destinations, store});
    }
  }
  return rows;
}

int fail(const Status& status) {
  std::fputs(fmt::format("gyre-bench kernels: {}\n", status.message()).c_str(), stderr);
  return exit_failed;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

nlohmann::json json_of(const MemoryLimit& limit) {
  nlohmann::json json{{"best_gbps", limit.best.gb_per_s},
                      {"best", limit.best.loop},
                      {"buffer_bytes", limit.buffer_bytes},
                      {"rates", nlohmann::json::array()}};
  for (const MemoryRate& rate : limit.rates)
    json["rates"].push_back(
        {{"loop", rate.loop}, {"streamed", rate.streamed}, {"gbps", rate.gb_per_s}});
  return json;
}

std::string describe(const MemoryLimit& limit) {
  std::string text;
  for (const MemoryRate& rate : limit.rates)
    text += fmt::format("#   {:<7}{:<10}{:8.1f} GB/s\n", rate.loop,
                        rate.streamed ? "streamed" : "regular", rate.gb_per_s);
  return text;
}

/// The speed of every row in every level. Prints as it goes.
Status table(bool all, const CpuCaches& caches, const MemoryLimit& limit, std::span<const int> cpus,
             nlohmann::json& json) {
  const auto levels = levels_of(caches, cpus.size());
  std::string head =
      fmt::format("# {:<7}{:<10}{:<5}{:>6} {:<10}", "kernel", "type", "op", "shape", "store");
  for (const Level& level : levels) head += fmt::format("{:>9}", level.name);
  print(head + "   of limit\n");
  for (const KernelShape& shape : shapes_of(all)) {
    const bool copies = shape.sources == 1;
    std::string line = fmt::format(
        "  {:<7}{:<10}{:<5}{:>6} {:<10}", copies ? "copy" : "reduce",
        copies ? "-" : name_of(shape.type), copies ? "-" : name_of(shape.op),
        fmt::format("{}x{}", shape.sources, shape.destinations), name_of_store(shape.store));
    nlohmann::json row{{"kernel", copies ? "copy" : "reduce"},
                       {"dtype", name_of(shape.type)},
                       {"op", name_of(shape.op)},
                       {"sources", shape.sources},
                       {"destinations", shape.destinations},
                       {"store", name_of_store(shape.store)}};
    double last = 0;
    for (const Level& level : levels) {
      const auto speed = measure_kernel(shape, level.bytes, cpus);
      if (!speed.ok()) return speed.status();
      last = speed->gb_per_s;
      line += fmt::format("{:9.1f}", last);
      row["gbps"][level.name] = last;
    }
    row["limit_share"] = last / limit.best.gb_per_s;
    json["rows"].push_back(row);
    print(fmt::format("{}{:10.0f}%\n", line, 100 * last / limit.best.gb_per_s));
  }
  return {};
}

/// From which footprint on streamed stores are faster, alone and in use. The source of
/// kernels::choose_store's constant.
Status stores(const CpuCaches& caches, std::span<const int> cpus, nlohmann::json& json) {
  constexpr std::size_t shapes[][2] = {{1, 1}, {2, 1}, {2, 2}};
  print(
      "# shape  footprint/LLC  regular us  streamed us  ratio   in use: regular  streamed  "
      "ratio\n");
  for (const auto& [sources, destinations] : shapes) {
    for (double part = 1.0 / 16; part <= 8; part *= 2) {
      const auto bytes = static_cast<std::size_t>(part * static_cast<double>(caches.last_levels));
      double us[2][2];
      for (const Between between : {Between::nothing, Between::write_and_read}) {
        for (const Store store : {Store::regular, Store::streamed}) {
          const auto speed =
              measure_kernel({DataType::float32, ReduceOp::sum, sources, destinations, store},
                             bytes, cpus, between);
          if (!speed.ok()) return speed.status();
          us[between == Between::write_and_read][store == Store::streamed] =
              speed->seconds_per_pass * 1e6;
        }
      }
      print(fmt::format(
          "  {}x{}    {:12.4f}  {:10.1f}  {:11.1f}  {:5.2f}  {:16.1f}  {:8.1f}  {:5.2f}\n", sources,
          destinations, part, us[0][0], us[0][1], us[0][0] / us[0][1], us[1][0], us[1][1],
          us[1][0] / us[1][1]));
      json["stores"].push_back({{"sources", sources},
                                {"destinations", destinations},
                                {"bytes", bytes},
                                {"regular_us", us[0][0]},
                                {"streamed_us", us[0][1]},
                                {"in_use_regular_us", us[1][0]},
                                {"in_use_streamed_us", us[1][1]}});
    }
  }
  return {};
}

struct Choices {
  std::string json;
  bool all = false;
  bool stores = false;
};

int run(const Choices& choices, std::span<const int> cpus) {
  const CpuCaches caches = read_cpu_caches(cpus);
  const auto limit = measure_memory_limit(cpus, caches.last_levels * buffers_per_cache);
  if (!limit.ok()) return fail(limit.status());
  nlohmann::json json{
      {"target", kernels::target_name()}, {"cpus", cpus.size()}, {"memory_limit", json_of(*limit)}};
  print(fmt::format(
      "# gyre-bench kernels: SIMD target {}, {} CPUs, L1 {} KiB, L2 {} KiB, LLC {} KiB\n"
      "# memory limit {:.1f} GB/s ({}{}), four buffers of {} MiB:\n{}"
      "# GB/s: 1e9 bytes read and written per second, all CPUs together\n",
      kernels::target_name(), cpus.size(), caches.first_level >> 10, caches.second_level >> 10,
      caches.last_levels >> 10, limit->best.gb_per_s, limit->best.loop,
      limit->best.streamed ? ", streamed" : "", limit->buffer_bytes >> 20, describe(*limit)));
  const Status status =
      choices.stores ? stores(caches, cpus, json) : table(choices.all, caches, *limit, cpus, json);
  if (!status.ok()) return fail(status);
  if (choices.json.empty()) return 0;
  std::ofstream file(choices.json);
  file << json.dump(2) << '\n';
  file.close();
  if (!file)
    return fail(Status(Code::system,
                       "writing " + choices.json + " failed; is the folder there and writable?"));
  return 0;
}

}  // namespace

int run_kernels(std::span<const std::string> arguments, std::span<const int> cpus) {
  CLI::App app{"How fast the reduce and copy kernels are in each cache and in memory.",
               "gyre-bench kernels"};
  Choices choices;
  app.add_option("--json", choices.json, "write everything to this file too");
  app.add_flag("--all", choices.all, "every type and operator in every shape (minutes)");
  app.add_flag("--stores", choices.stores,
               "from which size on streamed stores are faster, instead of the table");
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  return run(choices, cpus);
}

}  // namespace gyre::bench
