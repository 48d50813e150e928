#include "collectives/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace gyre::collectives {

namespace {

constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kib = 1024;

std::uint64_t bytes_of(const Call& call) { return call.count * size_of(call.type); }

bool fits(const Rule& rule, const Call& call, int size, bool all_mapped) {
  return rule.schedule->collective == call.collective && bytes_of(call) <= rule.bytes_max &&
         size >= rule.ranks_min && (all_mapped || rule.schedule->needs == schedules::Needs::slots);
}

}  // namespace

std::vector<Rule> default_rules() {
  using schedules::find_schedule;
  constexpr auto all_reduce = [](std::string_view algorithm) {
    return find_schedule(Collective::all_reduce, algorithm);
  };
  constexpr auto reduce_scatter = [](std::string_view algorithm) {
    return find_schedule(Collective::reduce_scatter, algorithm);
  };
  constexpr auto all_gather = [](std::string_view algorithm) {
    return find_schedule(Collective::all_gather, algorithm);
  };
  constexpr auto broadcast = [](std::string_view algorithm) {
    return find_schedule(Collective::broadcast, algorithm);
  };
  return {
      {all_reduce("one_shot"), 32 * kib, 2, 64 * kib},
      {all_reduce("mapped"), any, 2, 128 * kib},
      {all_reduce("two_shot"), any, 2, 64 * kib},
      {all_reduce("ring"), any, 1, 64 * kib},
      {reduce_scatter("mapped"), any, 2, 128 * kib},
      {reduce_scatter("two_shot"), any, 2, 64 * kib},
      {reduce_scatter("ring"), any, 1, 64 * kib},
      {all_gather("one_shot"), 32 * kib, 2, 64 * kib},
      {all_gather("mapped"), any, 2, 128 * kib},
      {all_gather("one_shot"), any, 2, 64 * kib},
      {all_gather("ring"), any, 1, 64 * kib},
      {broadcast("one_shot"), 32 * kib, 2, 64 * kib},
      {broadcast("mapped"), any, 2, 128 * kib},
      {broadcast("one_shot"), any, 1, 64 * kib},
      {find_schedule(Collective::barrier, "one_shot"), any, 1, 64 * kib},
  };
}

Result<Choice> choose(const Tuning& tuning, const Call& call, int size, bool all_mapped) {
  std::string_view reason = "rule";
  if (!tuning.forced.empty() && call.collective != Collective::barrier) {
    const auto* schedule = schedules::find_schedule(call.collective, tuning.forced);
    if (schedule && (all_mapped || schedule->needs == schedules::Needs::slots)) {
      return Choice{schedule, tuning.slot_bytes, "GYRE_ALGORITHM"};
    }
    reason = schedule ? "GYRE_ALGORITHM needs mappable buffers on every rank; rule"
                      : "GYRE_ALGORITHM names no algorithm of this collective; rule";
  }
  for (const Rule& rule : tuning.rules) {
    if (fits(rule, call, size, all_mapped)) {
      return Choice{rule.schedule, rule.piece_bytes, reason};
    }
  }
  return Status(Code::internal, fmt::format("no rule for {} with {} ranks", describe(call), size));
}

Status check_algorithm(std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& row : schedules::schedule_table) {
    if (row.algorithm == name) return {};
    if (std::find(known.begin(), known.end(), row.algorithm) == known.end())
      known.push_back(row.algorithm);
  }
  return Status(Code::invalid_argument,
                fmt::format("GYRE_ALGORITHM={}: no such algorithm; there are {}", name,
                            fmt::join(known, ", ")));
}

std::uint16_t hash_of(const Choice& choice, const Tuning& tuning) {
  // What decides the messages of a plan, mixed by multiplication with the golden ratio.
  std::uint64_t hash = static_cast<std::uint64_t>(choice.schedule->collective);
  for (const char letter : choice.schedule->algorithm)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x9e3779b97f4a7c15u;
  for (const std::uint64_t value :
       {std::uint64_t{choice.piece_bytes}, std::uint64_t{tuning.slot_bytes},
        static_cast<std::uint64_t>(tuning.slots)}) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return static_cast<std::uint16_t>(hash >> 48);
}

}  // namespace gyre::collectives
