// What the ranks of a new communicator tell each other: rank 0's decisions, which all follow, and
// what each knows about itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "collectives/tuner.hpp"
#include "transport/bootstrap/segment_exchange.hpp"

namespace gyre::collectives {

/// The CPUs a thread may run on, as a bit mask.
struct CpuMask {
  static constexpr int cpus_max = 1024;
  std::array<std::uint64_t, cpus_max / 64> words = {};

  void add(const CpuMask& other) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
  }
  int count() const;
  /// Of the calling thread.
  static CpuMask current();
};

/// One rank's record.
struct RankRecord {
  transport::ExchangeAddress exchange;
  CpuMask cpus;
  bool strict = false;
  Tuning tuning;  ///< rank 0's is everybody's

  std::vector<std::byte> encode() const;
  static Result<RankRecord> decode(std::span<const std::byte> bytes);
};

}  // namespace gyre::collectives
