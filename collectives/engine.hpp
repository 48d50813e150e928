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
  Status plan(bool all_mapped);
  Progress announce();
  Progress collect();
  Progress exchange();
  Progress run();
  Progress drain();
  Progress wait_for(const Waiting& waiting);
  bool needs_announcement_of(int peer) const;
  void combine_announcements();

  transport::Endpoint& endpoint_;
  const EngineOptions options_;
  const int rank_;
  const int size_;
  const bool pumps_;  ///< message links move only when asked to
  Executor executor_;

  Operation* operation_ = nullptr;
  Header header_;
  transport::Announcement announcement_;
  bool small_ = false;                 ///< the announcements carry it all
  std::size_t contribution_ = 0;       ///< bytes of a small operation's payload
  std::uint64_t announced_bytes_ = 0;  ///< payload that announcements have carried
  bool all_mapped_ = false;            ///< of the announcements collected so far
  int cursor_ = 0;                     ///< ranks before it have been collected
  schedules::Action action_;           ///< at operation_->step, where has_action_
  bool has_action_ = false;

  std::vector<transport::Announcement> announcements_;  ///< of a small operation, by rank
  std::vector<const std::byte*> contributions_;
};

}  // namespace gyre::collectives
