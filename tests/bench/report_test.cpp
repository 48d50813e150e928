// The report's forms: JSON schema, table, summary, exit code; and the tables and budgets that a run
// begins with.
#include "bench/report.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/machine.hpp"
#include "bench/memory_budget.hpp"
#include "bench/peer_field.hpp"
#include "bench/peer_table.hpp"
#include "bench/report_json.hpp"
#include "bench/table.hpp"

using namespace gyre;
using namespace gyre::bench;
using Catch::Approx;

namespace {

PeerFigure figure_of_peer(const std::string& peer, double ratio) {
  PeerFigure figure;
  figure.peer = peer;
  figure.measured = true;
  figure.variant = "default";
  figure.time_us = 10 * ratio;
  figure.ratio = ratio;
  return figure;
}

Report sample() {
  Report report;
  report.options.peers = {"openmpi", "gloo"};
  report.machine.cpu = "CPU";
  report.machine.cpus = {0, 1};
  report.machine.gyre_version = "0.1.0 (abc123)";
  for (const std::uint64_t bytes : {8u, 65536u}) {
    Row row;
    row.bytes = bytes;
    row.count = bytes / 4;
    row.out_of_place = {true, 10, 1, 1, 0};
    row.in_place = {true, 11, 1, 1, 0};
    row.bytes_sent = {7, 9};
    row.limit_share = 0.5;
    row.algorithm = "ring";
    row.peers = {figure_of_peer("openmpi", bytes == 8 ? 1.5 : 6), figure_of_peer("gloo", 50)};
    report.rows.push_back(row);
  }
  for (const auto& peer : report.options.peers) {
    PeerSummary summary;
    summary.peer = peer;
    report.peers.push_back(summary);
  }
  summarise(report);
  return report;
}

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the summary has geometric mean and worst ratio with its size") {
  const Report report = sample();
  CHECK(report.peers[0].geometric_mean == Approx(3));
  CHECK(report.peers[0].worst == Approx(1.5));
  CHECK(report.peers[0].worst_bytes == 8);
  const auto text = summary_text(report);
  CHECK(contains(text, "geometric mean  3.00x, worst  1.50x at     8"));
  CHECK(contains(text, "best peer"));
  CHECK(contains(text, "0 OK"));
}

TEST_CASE("the JSON file has every promised field") {
  const auto json = nlohmann::json::parse(json_text(sample()));
  CHECK(json["commit"] == "abc123");
  CHECK(json["machine"]["cpu"] == "CPU");
  REQUIRE(json["rows"].size() == 2);
  const auto& row = json["rows"][0];
  for (const char* field : {"size", "count", "time_us", "p50_us", "p99_us", "algbw", "busbw",
                            "limit_share", "bytes_sent", "wrong"}) {
    CAPTURE(field);
    CHECK(row[field].is_number());
  }
  CHECK(row["dtype"] == "float");
  CHECK(row["op"] == "sum");
  CHECK(row["bytes_sent"] == 9);
  CHECK(row["peers"]["openmpi"]["time_us"] == Approx(15));
  CHECK(row["peers"]["openmpi"]["ratio"] == Approx(1.5));
  CHECK(row["peers"]["openmpi"]["variant"] == "default");
}

TEST_CASE("JSON survives bytes in a message that are no UTF-8") {
  Report report = sample();
  report.peers[0].incomplete = "broken \xff\xfe";
  CHECK(nlohmann::json::parse(json_text(report)).is_object());
}

TEST_CASE("exit codes: wrong before incomplete before slow") {
  Report report = sample();
  CHECK(exit_code_of(report) == exit_ok);
  report.options.fail_under = 2;
  CHECK(exit_code_of(report) == exit_slow);
  report.peers[1].incomplete = "it crashed";
  CHECK(exit_code_of(report) == exit_incomplete);
  CHECK(contains(summary_text(report), "INCOMPLETE: it crashed"));
  report.rows[1].in_place.wrong = 1;
  CHECK(exit_code_of(report) == exit_wrong);
  CHECK(contains(summary_text(report), "1 FAILED"));
  report.failure = "gyre failed";
  CHECK(exit_code_of(report) == exit_failed);
  report.interrupted = true;
  CHECK(exit_code_of(report) == exit_interrupted);
}

TEST_CASE("every row of a table has its heads' width, and the header says what was measured") {
  const Report report = sample();
  const auto header = header_text(report);
  CHECK(contains(header, "2 ranks (processes, one cpu each), buffers rewritten and read"));
  CHECK(contains(header, "gyre 0.1.0 (abc123)"));
  std::istringstream lines(header);
  std::string heads;
  for (std::string line; std::getline(lines, line);)
    if (line.find("busbw") != std::string::npos) heads = line;
  const auto row = row_text(report, report.rows[1]);
  CHECK(row.find("  ring") == heads.size());
  CHECK(contains(comparison_text(report), "6.00x"));
}

TEST_CASE("numbers have four digits") {
  CHECK(number_text(0.1234) == "0.123");
  CHECK(number_text(12.345) == "12.35");
  CHECK(number_text(12345.6) == "12346");
}

TEST_CASE("sizes are capped to what memory holds, and too many ranks are refused") {
  Options o;
  o.peers = {"openmpi"};
  CHECK(bytes_needed(o, 1 << 20) == 2u * 2 * 2 * (1 << 20) + 2 * 2 * process_bytes);
  const std::uint64_t gib = std::uint64_t{1} << 30;
  CHECK(fit(o, 64 * gib)->bytes_max == o.bytes_max);
  CHECK(fit(o, 64 * gib)->note.empty());
  const auto capped = fit(o, gib);
  REQUIRE(capped.ok());
  CHECK(bytes_needed(o, capped->bytes_max) <= gib * 8 / 10);
  CHECK(bytes_needed(o, capped->bytes_max + 1) > gib * 8 / 10);
  CHECK(contains(capped->note, "capped"));
  o.ranks = 200;
  const auto refused = fit(o, gib);
  CHECK(refused.status().code() == Code::out_of_resources);
  CHECK(contains(refused.status().message(), "fewer ranks"));
}

TEST_CASE("the machine is described from the kernel's texts") {
  CHECK(cpu_model_of("processor : 0\nmodel name\t: AMD EPYC\nx: y\n") == "AMD EPYC");
  CHECK(cpu_model_of("") == "unknown cpu");
  CHECK(meminfo_bytes("MemTotal:  10 kB\nMemAvailable:   2048 kB\n", "MemAvailable") == 2 << 20);
  CHECK(meminfo_bytes("", "MemAvailable") == 0);
}

TEST_CASE("variants: words with = go to the environment, others to the launcher") {
  const auto variants = parse_variants(
      "# comment\n\nopenmpi default\nopenmpi ring A_B=1=2 --mca x # rest\r\nmpich default");
  REQUIRE(variants.ok());
  REQUIRE(variants->size() == 3);
  const auto& ring = (*variants)[1];
  CHECK(ring.words.environment.at("A_B") == "1=2");
  CHECK(ring.words.arguments == std::vector<std::string>{"--mca", "x"});
}

TEST_CASE("variants with a missing name or twice the same are refused with their line") {
  CHECK(contains(parse_variants("a b\nopenmpi\n").status().message(), "line 2"));
  CHECK(contains(parse_variants("a b\na b\n").status().message(), "twice"));
}

TEST_CASE("peers.json says how each is started and what is missing") {
  const auto peers = parse_peers(R"({"gloo": {"program": "gloo", "launcher": []},
      "mpich": {"program": "p", "launcher": ["mpiexec", "-n", "{ranks}"],
                "environment": {"A": "1"},
                "oversubscribed": {"environment": {"YIELD": "1"}}},
      "impi": {"install": "scripts/setup"}})",
                                 "/folder");
  REQUIRE(peers.ok());
  const auto missing = contenders_of({"impi"}, *peers, {});
  CHECK(contains(missing.status().message(), "scripts/setup"));
  CHECK(contains(contenders_of({"nccl"}, *peers, {}).status().message(), "gloo, impi, mpich"));
  const auto chosen = contenders_of({"mpich", "gloo"}, *peers, {{"mpich", "v", {{"-x"}, {}}}});
  REQUIRE(chosen.ok());
  FieldSettings settings;
  settings.ranks = 4;
  settings.cpus = {0, 1};
  const auto& mpich = (*chosen)[0];
  const auto plan = plan_of(mpich.peer, mpich.variants[0], settings, "/scratch");
  CHECK(plan.command == std::vector<std::string>{"mpiexec", "-n", "4", "-x", "/folder/p"});
  CHECK(plan.environment.at("YIELD") == "1");
  CHECK(plan.cpus.empty());
  CHECK_FALSE(plan.one_command_per_rank);
  settings.ranks = 2;
  const auto gloo = plan_of((*chosen)[1].peer, (*chosen)[1].variants[0], settings, "/scratch");
  CHECK(gloo.one_command_per_rank);
  CHECK(gloo.cpus == std::vector<int>{0, 1});
}

TEST_CASE("broken peers.json is refused") {
  for (const char* text : {"", "[]", "{", R"({"a": 1})", R"({"a": {"launcher": "x"}})",
                           R"({"a": {"environment": {"X": 1}}})"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_peers(text, "/f").ok());
  }
}
