// Takes one operation after the other from call to result, a bounded step at a time. It never
// blocks, sleeps, reads a clock or draws a random number; whoever drives it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "collectives/executor.hpp"
#include "collectives/operation.hpp"
#include "collectives/tuner.hpp"
#include "transport/endpoint.hpp"

namespace gyre::collectives {

enum class Progress : std::uint8_t {
  working,   ///< something moved, and there is more to do now
  waiting,   ///< nothing to do before a peer does something: operation.waiting
  finished,  ///< the operation has its result
  failed,    ///< the communicator has failed: Endpoint::failure
};

struct EngineOptions {
  Tuning tuning;
  /// Compares all announcements before any payload moves (GYRE_CHECK=strict).
  bool strict = false;
  std::size_t last_level_cache_bytes = std::size_t{32} << 20;
  Trace* trace = nullptr;
};

class Engine {
 public:
  /// Bytes that one call of progress() loads and stores before it returns.
  static constexpr std::size_t work_bytes_max = 128 * 1024;

  /// `endpoint` must outlive the engine.
  Engine(transport::Endpoint& endpoint, EngineOptions options);

  /// Takes up an operation, the next in its communicator's order. It must stay where it is until it
  /// has finished. Only when the one before has.
  Status begin(Operation& operation);

  /// Advances the operation taken up by at most about work_bytes_max.
  Progress progress();

  const EngineOptions& options() const { return options_; }
  /// Payload bytes this rank has stored for, or posted to, others: in links, announcements, and
  /// peers' mapped buffers.
  std::uint64_t bytes_sent() const;

 private:
  /// What brings every rank's contribution to every rank.
  enum class Carrier : std::uint8_t {
    announcement,  ///< its payload
    cast,          ///< one cast slot, with the announcement
    schedule,      ///< the actions of a schedule
  };
  /// The last plan for plain buffers, and what follows from it.
  struct KnownPlan {
    bool valid = false;
    Call call;
    Choice choice;
    schedules::Plan plan;
    std::uint64_t steps = 0;
    std::uint16_t hash = 0;
    bool mapped = false;    ///< with mappable buffers everywhere another schedule would run
    bool one_cast = false;  ///< each rank casts once and no more
  };

  Status plan();
  void take(const Choice& choice);
  bool cast();
  Progress announce();
  Progress collect();
  Progress exchange();
  Progress run();
  Progress drain();
  Progress wait_for(const Waiting& waiting);
  bool needs_announcement_of(int peer) const;
  void gather_own();
  void combine_contributions(std::size_t bytes);

  transport::Endpoint& endpoint_;
  const EngineOptions options_;
  const int rank_;
  const int size_;
  const bool pumps_;  ///< message links move only when asked to
  Executor executor_;

  Operation* operation_ = nullptr;
  Header header_;
  std::uint16_t history_ = 0;  ///< digest of all earlier headers
  transport::Announcement announcement_;
  Carrier carrier_ = Carrier::announcement;
  KnownPlan known_plan_;
  std::uint64_t cast_for_ = 0;         ///< operation whose contribution has been cast
  std::size_t contribution_ = 0;       ///< bytes that this rank brings
  std::size_t payload_bytes_ = 0;      ///< of this rank's announcement
  std::uint64_t announced_bytes_ = 0;  ///< payload that announcements have carried
  bool all_mapped_ = false;            ///< of the announcements collected so far
  int cursor_ = 0;                     ///< ranks before it have been collected
  schedules::Action action_;           ///< at operation_->step, where has_action_
  bool has_action_ = false;

  std::vector<transport::Announcement> announcements_;  ///< where no schedule runs, by rank
  std::vector<const std::byte*> contributions_;
};

}  // namespace gyre::collectives
