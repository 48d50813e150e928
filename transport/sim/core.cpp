#include "transport/sim/core.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gyre::transport {

SimCore::SimCore(const SimOptions& options)
    : options_(options),
      random_(options.seed),
      queue_(random_.fork()),
      ranks_(static_cast<std::size_t>(options.ranks)) {
  trace_.add(options.seed, options.ranks, options.kind, options.shape.slots,
             options.shape.slot_bytes);
  for (auto& rank : ranks_) {
    const Nanoseconds offset = random_.between(0, 1'000'000'000'000);
    if (profile().clocks_differ) rank.clock_offset = offset;
  }
}

bool SimCore::act(int index, SimAct what, std::uint64_t detail, std::uint64_t more) {
  strike(index);
  SimRank& rank = ranks_[static_cast<std::size_t>(index)];
  ++rank.actions;
  const bool counts = !rank.dead && rank.stopped_until != SimPause::forever;
  trace_.add(now_, index, what, detail, more, counts);
  return counts;
}

void SimCore::strike(int index) {
  SimRank& rank = ranks_[static_cast<std::size_t>(index)];
  if (rank.dead) return;
  for (const auto& pause : profile().pauses) {
    if (pause.rank != index || pause.at_action != rank.actions) continue;
    const Nanoseconds until =
        pause.length == SimPause::forever ? SimPause::forever : now_ + pause.length;
    rank.stopped_until = std::max(rank.stopped_until, until);
    ++coverage_.pauses;
  }
  for (const auto& kill : profile().kills) {
    if (kill.rank != index || kill.at_action != rank.actions || rank.dead) continue;
    rank.dead = true;
    ++coverage_.kills;
    deaths_.push_back(index);
  }
}

int SimCore::take_death() {
  if (deaths_.empty()) return -1;
  const int rank = deaths_.back();
  deaths_.pop_back();
  return rank;
}

Nanoseconds SimCore::arrival(int index, Nanoseconds delay, Nanoseconds earliest) const {
  const Nanoseconds begin = std::max(now_, rank(index).stopped_until);
  if (begin == SimPause::forever) return begin;
  return std::max(begin + delay, earliest);
}

void SimCore::wake(int index) {
  SimRank& rank = ranks_[static_cast<std::size_t>(index)];
  rank.rung = true;
  if (rank.asleep) rank.bell = true;
}

void SimCore::note(int index, std::uint64_t standing) {
  SimRank& rank = ranks_[static_cast<std::size_t>(index)];
  if (rank.dead || rank.stopped_until == SimPause::forever) return;
  if (standing < rank.noted) violation("a note fell");
  rank.noted = standing;
}

void SimCore::violation(std::string text) {
  if (violations_.size() < violations_max) violations_.push_back(std::move(text));
}

std::uint64_t sim_hash(const std::byte* data, std::size_t bytes) {
  std::uint64_t hash = bytes;
  while (bytes > 0) {
    std::uint64_t word = 0;
    const std::size_t part = std::min(bytes, sizeof word);
    std::memcpy(&word, data, part);
    hash ^= word;
    hash = splitmix64(hash);
    data += part;
    bytes -= part;
  }
  return hash;
}

}  // namespace gyre::transport
