// schedule-mutants [N_MAX]: tries every mutant of every schedule for N = 2 .. N_MAX (5; the whole
// proof is 9) and prints, per schedule and kind of change, how many were made, killed, equivalent.
// Exits with 1 if the checker passes anything that the oracle finds wrong.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "schedules/checker/mutants.hpp"

namespace {

using namespace gyre::schedules;           // NOLINT(google-build-using-namespace): a program
using namespace gyre::schedules::checker;  // NOLINT(google-build-using-namespace)

constexpr int size_min = 2;
constexpr int size_max = 9;

void print_row(const std::string& name, const char* what, const Tallies& tallies,
               std::uint64_t (*value)(const Tally&)) {
  std::printf("%-28s%-11s", name.c_str(), what);
  std::uint64_t sum = 0;
  for (const Tally& tally : tallies) {
    std::printf(" %8llu", static_cast<unsigned long long>(value(tally)));
    sum += value(tally);
  }
  std::printf(" %9llu\n", static_cast<unsigned long long>(sum));
}

void print_block(const std::string& name, const Tallies& tallies) {
  print_row(name, "generated", tallies, [](const Tally& t) { return t.generated; });
  print_row("", "killed", tallies, [](const Tally& t) { return t.killed; });
  print_row("", "equivalent", tallies, [](const Tally& t) { return t.equivalent(); });
}

Tallies try_sizes(const Schedule& schedule, int largest, std::vector<std::string>& doubts) {
  Tallies sum = {};
  for (int size = size_min; size <= largest; ++size) {
    for (const int slots : {1, 2, 8}) {
      for (const bool in_place : {false, true}) {
        for (const auto world : {uneven_world, sparse_world}) {
          const Tallies tallies =
              try_mutants(schedule, world(schedule, size, slots, in_place), doubts);
          for (std::size_t i = 0; i < change_count; ++i) sum[i].add(tallies[i]);
        }
      }
    }
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int largest = argc > 1 ? std::atoi(argv[1]) : 5;
  if (argc > 2 || largest < size_min || largest > size_max) {
    std::fprintf(stderr, "usage: schedule-mutants [N_MAX], 2 <= N_MAX <= 9 (5 if left out)\n");
    return 2;
  }
  std::printf("N = 2..%d, slots 1, 2, 8, in place and not, every rank and step\n\n%-39s", largest,
              "");
  for (const auto name : change_names) std::printf(" %8s", std::string(name).c_str());
  std::printf(" %9s\n", "all");
  std::vector<std::string> doubts;
  Tallies all = {};
  for (const Schedule& schedule : schedule_table) {
    const Tallies sum = try_sizes(schedule, largest, doubts);
    print_block(
        std::string(gyre::name_of(schedule.collective)) + " " + std::string(schedule.algorithm),
        sum);
    for (std::size_t i = 0; i < change_count; ++i) all[i].add(sum[i]);
  }
  std::printf("\n");
  print_block("all", all);
  print_row("", "  same prog", all, [](const Tally& t) { return t.same_program; });
  print_row("", "  same seen", all, [](const Tally& t) { return t.same_seen; });
  print_row("", "  other", all, [](const Tally& t) { return t.another_right; });
  for (const std::string& doubt : doubts) std::printf("DOUBT: %s\n", doubt.c_str());
  return doubts.empty() ? 0 : 1;
}
