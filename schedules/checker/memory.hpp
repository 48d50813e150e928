// A buffer's symbolic contents as runs of elements, not single ones, so that checking a gigabyte
// costs what checking its pieces costs.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/checker/expression.hpp"

namespace gyre::schedules::checker {

/// `count` neighbouring elements of the operation, from `element` on, with the same expression.
struct Run {
  std::uint64_t count = 0;
  std::uint64_t element = 0;
  Expression value = unwritten;
};
using Runs = std::vector<Run>;

/// Adds `run` at the end, as part of the last one where it continues it.
void append(Runs& runs, Run run);

class Memory {
 public:
  /// `count` elements that nobody has written.
  void reset(std::uint64_t count);
  std::uint64_t count() const { return count_; }

  /// Appends what positions begin .. begin+count-1 hold; they must be inside.
  void read(std::uint64_t begin, std::uint64_t count, Runs& out) const;
  /// Stores `runs` from position `begin` on; they must fit.
  void write(std::uint64_t begin, const Runs& runs);

 private:
  struct Segment {
    std::uint64_t begin;
    Run run;
    std::uint64_t end() const { return begin + run.count; }
  };
  std::size_t find(std::uint64_t position) const;
  void add(std::uint64_t begin, Run run);

  std::uint64_t count_ = 0;
  std::vector<Segment> segments_;  ///< sorted, gapless
  std::vector<Segment> fresh_;     ///< what a write puts in place of the segments it meets
};

}  // namespace gyre::schedules::checker
