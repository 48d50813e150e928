// One library in a comparison, as the turn taking sees it: something that takes turns and
// uses CPU. RankSet is the real one; tests have a fake.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "bench/protocol.hpp"
#include "bench/statistics.hpp"

namespace gyre::bench {

class Side {
 public:
  virtual ~Side() = default;

  /// "openmpi (no-cma)"
  virtual std::string label() const = 0;
  /// CPU time of every thread of every process of this library, so far.
  virtual std::uint64_t cpu_ns() const = 0;
  /// Makes the buffers of all its ranks; Code::unsupported where the library has no such thing.
  virtual Status prepare(const Operation& operation) = 0;
  /// One turn of all its ranks. After an error this side is not to be used again.
  virtual Result<TurnFigure> turn(const TurnOrder& order) = 0;
};

}  // namespace gyre::bench
