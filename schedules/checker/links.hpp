// The queues between ranks, symbolically: a pairwise link for every pair, and a cast link per rank
// that all its peers read. At most `slots` messages wait in a link; a cast message is gone when
// every peer has read it.
//
// Links are numbered by their writer's lane (channel x size + rank).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/checker/memory.hpp"
#include "schedules/checker/races.hpp"

namespace gyre::schedules::checker {

class Links {
 public:
  Links(int size, int channels, int slots);

  bool has_message(int from_lane, int to) const;
  bool has_credit(int from_lane, int to) const;
  /// Returns how many messages went through this link before.
  std::uint64_t send(int from_lane, int to, const Runs& runs, const Clock* clock);
  /// Takes the oldest message; there must be one. What its sender knew is joined into `clock`.
  void receive(int from_lane, int to, Runs& out, Clock* clock);

  bool has_cast(int from_lane, int reader) const;
  bool has_cast_credit(int from_lane, int reader) const;
  std::uint64_t cast(int from_lane, const Runs& runs, const Clock* clock);
  void receive_cast(int from_lane, int reader, Runs& out, Clock* clock);

  /// Names a link that still holds a message; "" where all are empty.
  std::string why_not_empty() const;

 private:
  /// A message with one run, as nearly all have, needs no memory of its own.
  struct Message {
    Run run;
    std::uint32_t more = 0;   ///< in runs_, 0: run is all
    std::uint32_t clock = 0;  ///< in clocks_, 0: none
    std::uint32_t next = 0;   ///< in messages_, 0: the last
  };
  struct Queue {
    std::uint32_t oldest = 0;
    std::uint32_t newest = 0;
    std::uint32_t length = 0;
    std::uint32_t sent = 0;
  };
  struct Cast {
    std::vector<std::uint32_t> messages;  ///< all ever sent
    std::vector<std::uint32_t> read;      ///< how many each peer has read
  };

  const Queue* queue(int from_lane, int to) const;
  std::uint32_t store(const Runs& runs, const Clock* clock);
  void load(const Message& message, Runs& out, Clock* clock) const;

  std::size_t size_;
  std::size_t slots_;
  std::vector<Queue> queues_;  ///< writer's lane x size + reader; made when first used
  std::vector<Cast> casts_;    ///< by writer's lane
  std::vector<Message> messages_;
  std::uint32_t free_ = 0;
  std::vector<Runs> runs_;
  std::vector<Clock> clocks_;
};

}  // namespace gyre::schedules::checker
