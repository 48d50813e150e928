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
  if (rule.collective != call.collective || bytes_of(call) > rule.bytes_max ||
      size < rule.ranks_min) {
    return false;
  }
  const auto* schedule = schedules::find_schedule(rule.collective, rule.algorithm);
  return schedule && (all_mapped || schedule->needs == schedules::Needs::slots);
}

}  // namespace

std::vector<Rule> default_rules() {
  return {
      {Collective::all_reduce, any, 2, "mapped", 128 * kib},
      {Collective::all_reduce, 4 * kib, 2, "one_shot", 32 * kib},
      {Collective::all_reduce, any, 2, "two_shot", 32 * kib},
      {Collective::all_reduce, any, 1, "ring", 32 * kib},
      {Collective::reduce_scatter, any, 2, "mapped", 128 * kib},
      {Collective::reduce_scatter, any, 2, "two_shot", 32 * kib},
      {Collective::reduce_scatter, any, 1, "ring", 32 * kib},
      {Collective::all_gather, any, 2, "mapped", 128 * kib},
      {Collective::all_gather, any, 2, "one_shot", 32 * kib},
      {Collective::all_gather, any, 1, "ring", 32 * kib},
      {Collective::broadcast, any, 2, "mapped", 128 * kib},
      {Collective::broadcast, any, 1, "one_shot", 32 * kib},
      {Collective::barrier, any, 1, "one_shot", 32 * kib},
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
      return Choice{schedules::find_schedule(rule.collective, rule.algorithm), rule.piece_bytes,
                    reason};
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
  // FNV-1a over what decides the messages of a plan.
  std::uint32_t hash = 2166136261u;
  const auto mix = [&hash](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (value >> 8 * byte & 0xff)) * 16777619u;
  };
  mix(static_cast<std::uint64_t>(choice.schedule - schedules::schedule_table));
  mix(choice.piece_bytes);
  mix(tuning.slot_bytes);
  mix(static_cast<std::uint64_t>(tuning.slots));
  return static_cast<std::uint16_t>(hash ^ hash >> 16);
}

}  // namespace gyre::collectives
