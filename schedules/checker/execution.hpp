// The checker's inside: all ranks' programs, run to the end (or to the first fault, or until nobody
// can go on). Three sources: execution.cpp decides who goes next, transfer.cpp moves symbolic data,
// verdict.cpp looks at what is there when all is over.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedules/checker/checker.hpp"
#include "schedules/checker/expression.hpp"
#include "schedules/checker/links.hpp"
#include "schedules/checker/memory.hpp"
#include "schedules/checker/races.hpp"

namespace gyre::schedules::checker {

/// What an action waits for. `peer` is a rank.
struct Need {
  enum class Kind : std::uint8_t { nothing, message, credit, cast_message, cast_credit, left };
  static constexpr int every_peer = -1;
  Kind kind = Kind::nothing;
  int peer = every_peer;
  bool operator==(const Need&) const = default;
};

class Execution {
 public:
  Execution(const Schedule& schedule, const World& world, const Override* override);

  Report run();

 private:
  /// One rank's channel, and how far it has come.
  struct Lane {
    int rank = 0;
    int channel = 0;
    Plan plan;
    std::uint64_t step = 0;
    std::uint64_t steps = 0;
    Action action;  ///< that of `step`, where loaded
    bool loaded = false;
    bool queued = false;  ///< in ready_
    bool has_left = false;
    Need blocked;   ///< the first need of `action` that isn't met
    int phase = 0;  ///< needs of `action` are met up to here,
    int index = 0;  ///< and of this one, for peers below this
    Memory scratch;
    Clock clock;
    Clock clock_when_left;
    std::vector<std::uint64_t> stages_sent;  ///< a bit each
  };

  /// Where an operand lies in a user buffer.
  struct Spot {
    std::size_t memory = 0;
    std::uint64_t begin = 0;
  };

  struct Cursor {
    std::size_t run = 0;
    std::uint64_t skip = 0;  ///< elements of that run
  };

  // execution.cpp
  void set_up_buffers();
  void set_up_lanes(const Override* override);
  void fill(int rank);
  bool load(Lane& lane);
  void advance(Lane& lane);
  Need need_of(const Lane& lane, int phase) const;
  bool is_met(const Lane& lane, Need::Kind kind, int peer) const;
  Need first_unmet(Lane& lane);
  void wake(int rank, int channel, Need met);
  void wait_for_event(Lane& lane);
  void signal_event(Lane& lane);
  std::string deadlock() const;
  void fail(const Lane& lane, const std::string& what);
  bool failed() const { return !report_.reason.empty(); }

  // transfer.cpp
  void move(Lane& lane);
  bool fits(Lane& lane);
  bool overlaps_askew(const Lane& lane) const;
  bool locate(const Lane& lane, const Operand& operand, int rank, Spot& spot) const;
  void read_sources(Lane& lane);
  void read(Lane& lane, const Operand& operand, Runs& out);
  void read_buffer(Lane& lane, const Operand& operand, int rank, Runs& out);
  void read_message(Lane& lane, bool is_cast, int peer, Runs& out);
  void reduce(Lane& lane);
  void finalize(Lane& lane);
  void write(Lane& lane, const Operand& operand);
  void write_buffer(Lane& lane, const Operand& operand, int rank);
  void send(Lane& lane, const Operand& operand);
  void cast(Lane& lane);
  void note_sending(Lane& lane, int peer);
  void note_behaviour(int from_lane, int to, std::uint64_t number, const Runs& runs);
  void access(Lane& lane, int owner, Spot spot, bool writes);
  const Clock* released(Lane& lane);

  // verdict.cpp
  void judge();
  void judge_result(int rank);
  void judge_caller(int rank);
  void judge_agreement();

  int lane_index(int rank, int channel) const { return channel * world_.size + rank; }
  int lane_index(const Lane& lane) const { return lane_index(lane.rank, lane.channel); }
  Lane& lane_at(int rank, int channel) {
    return lanes_[static_cast<std::size_t>(lane_index(rank, channel))];
  }
  std::size_t memory_index(int rank, bool output) const {
    return 2 * static_cast<std::size_t>(rank) + (output && !world_.in_place ? 1 : 0);
  }
  Traffic& traffic(const Lane& lane) {
    return report_.traffic[static_cast<std::size_t>(lane.rank)];
  }

  const Schedule& schedule_;
  const World& world_;
  const bool tracks_;  ///< whether accesses to buffers must be shown to be ordered
  Report report_;
  Expressions expressions_;
  Links links_;
  std::vector<Layout> layouts_;           ///< by rank
  std::vector<Memory> memories_;          ///< by memory_index
  std::vector<AccessHistory> histories_;  ///< the same, where tracks_
  std::vector<Lane> lanes_;
  std::span<const Action> replaced_;
  int replaced_rank_ = -1;
  std::vector<int> ready_;                  ///< lanes that may be able to go on
  std::vector<int> lanes_left_;             ///< by channel: how many have signalled left
  std::vector<Clock> clock_when_all_left_;  ///< by channel, once all have

  std::vector<Runs> operands_;   ///< of the action being taken
  std::vector<Cursor> cursors_;  ///< how far each operand is reduced
  Runs result_;
  Clock released_;
  std::vector<Expression> values_;
  std::vector<bool> judged_;   ///< by expression: found complete
  std::vector<Runs> results_;  ///< by rank
};

}  // namespace gyre::schedules::checker
