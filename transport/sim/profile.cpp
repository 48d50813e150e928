#include "transport/sim/profile.hpp"

#include <fmt/format.h>

#include <iterator>

namespace gyre::transport {
namespace {

/// One of three speeds, so that what is usually fast is sometimes the slowest of all.
SimDelay draw_delay(Random& random) {
  SimDelay delay;
  switch (random.below(4)) {
    case 0: delay = {0, 10, 0, 0}; break;
    case 1: delay = {50, 500, 0, 0}; break;
    case 2: delay = {50, 20'000, 0, 0}; break;
    default: delay = {50, 300, 1'000'000, 3}; break;
  }
  return delay;
}

int percent_or_none(Random& random, int most) {
  return random.chance(1, 2) ? static_cast<int>(random.between(1, most)) : 0;
}

void append(std::string& text, std::string_view name, const SimDelay& delay,
            const SimDelay& usual) {
  if (delay.low == usual.low && delay.high == usual.high && delay.tail_percent == 0) return;
  fmt::format_to(std::back_inserter(text), " {}={}..{}ns", name, delay.low, delay.high);
  if (delay.tail_percent > 0)
    fmt::format_to(std::back_inserter(text), "({}%..{})", delay.tail_percent, delay.tail);
}

void append(std::string& text, std::string_view name, int value, int usual) {
  if (value != usual) fmt::format_to(std::back_inserter(text), " {}={}", name, value);
}

}  // namespace

Nanoseconds SimDelay::draw(Random& random) const {
  if (tail_percent > 0 && random.chance(static_cast<std::uint64_t>(tail_percent), 100))
    return random.between(high, tail);
  return high > low ? random.between(low, high) : low;
}

SimProfile draw_profile(Random& random, const SimLimits& limits) {
  SimProfile profile;
  const auto any_rank = [&] { return static_cast<int>(random.between(0, limits.ranks - 1)); };
  for (SimDelay* delay : {&profile.message, &profile.credit, &profile.source, &profile.announcement,
                          &profile.leave, &profile.import})
    if (random.chance(1, 2)) *delay = draw_delay(random);
  if (random.chance(1, 3)) profile.step = {1, 5'000, 0, 0};
  if (random.chance(1, 3)) profile.abort_notice = {0, 1'000'000, 0, 0};
  if (random.chance(1, 3)) profile.death_notice = {0, 50'000'000, 0, 0};
  if (random.chance(1, 3)) profile.link_factor_max = 8;
  if (random.chance(1, 4)) {
    profile.slow_rank = any_rank();
    profile.slow_factor = static_cast<int>(random.between(2, 100));
  }
  profile.in_place_percent = percent_or_none(random, 100);
  profile.spurious_wake_percent = percent_or_none(random, 30);
  profile.announce_busy_percent = percent_or_none(random, 50);
  profile.pump_partial_percent = percent_or_none(random, 50);
  profile.cast_to_each = random.chance(1, 2);
  profile.clocks_differ = random.chance(1, 2);
  if (limits.refused_imports && random.chance(1, 16)) profile.import_refused_percent = 20;
  while (profile.pauses.size() < 3 && random.chance(1, 4))
    profile.pauses.push_back(
        {any_rank(), random.below(limits.actions), random.between(1'000, 20'000'000)});
  if (limits.deaths && random.chance(1, 5)) {
    profile.kills.push_back({any_rank(), random.below(limits.actions)});
    if (random.chance(1, 4)) profile.kills.push_back({any_rank(), random.below(limits.actions)});
  }
  if (limits.deaths && random.chance(1, 16))
    profile.pauses.push_back({any_rank(), random.below(limits.actions), SimPause::forever});
  return profile;
}

std::string describe(const SimProfile& profile) {
  const SimProfile usual;
  std::string text = "profile:";
  append(text, "message", profile.message, usual.message);
  append(text, "credit", profile.credit, usual.credit);
  append(text, "source", profile.source, usual.source);
  append(text, "announcement", profile.announcement, usual.announcement);
  append(text, "leave", profile.leave, usual.leave);
  append(text, "import", profile.import, usual.import);
  append(text, "step", profile.step, usual.step);
  append(text, "abort_notice", profile.abort_notice, usual.abort_notice);
  append(text, "death_notice", profile.death_notice, usual.death_notice);
  append(text, "link_factor_max", profile.link_factor_max, usual.link_factor_max);
  append(text, "slow_rank", profile.slow_rank, usual.slow_rank);
  append(text, "slow_factor", profile.slow_factor, usual.slow_factor);
  append(text, "in_place%", profile.in_place_percent, usual.in_place_percent);
  append(text, "spurious_wake%", profile.spurious_wake_percent, usual.spurious_wake_percent);
  append(text, "announce_busy%", profile.announce_busy_percent, usual.announce_busy_percent);
  append(text, "pump_partial%", profile.pump_partial_percent, usual.pump_partial_percent);
  append(text, "import_refused%", profile.import_refused_percent, usual.import_refused_percent);
  append(text, "cast_to_each", profile.cast_to_each, usual.cast_to_each);
  append(text, "clocks_differ", profile.clocks_differ, usual.clocks_differ);
  const auto out = std::back_inserter(text);
  for (const auto& kill : profile.kills)
    fmt::format_to(out, " kill(rank={} action={})", kill.rank, kill.at_action);
  for (const auto& pause : profile.pauses) {
    fmt::format_to(out, " pause(rank={} action={} ", pause.rank, pause.at_action);
    if (pause.length == SimPause::forever)
      fmt::format_to(out, "forever)");
    else
      fmt::format_to(out, "{}ns)", pause.length);
  }
  for (const auto& flip : profile.flips)
    fmt::format_to(out, " flip({}->{} message={} bit={})", flip.from, flip.to, flip.message,
                   flip.bit);
  return text;
}

}  // namespace gyre::transport
