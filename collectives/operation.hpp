// One collective on its way: what was asked for, where its buffers lie, how far it has come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "collectives/call.hpp"
#include "collectives/tuner.hpp"
#include "schedules/plan.hpp"
#include "transport/endpoint.hpp"

namespace gyre::collectives {

/// The caller's buffers. A ref with segment 0 is plain memory.
struct Buffers {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  transport::MappedRef input_ref;
  transport::MappedRef output_ref;

  bool mappable() const { return input_ref.segment != 0 && output_ref.segment != 0; }
};

enum class OperationState : std::uint8_t {
  queued,      ///< behind another operation of its communicator
  announcing,  ///< waiting to tell its peers: the slowest is too far behind
  collecting,  ///< waiting for all announcements, to choose the path or to compare them
  exchanging,  ///< small: the announcements are the data
  running,     ///< executing its schedule
  draining,    ///< done but for the transport, which still reads the buffers
  finished,
};

/// What an operation that cannot go on is waiting for.
struct Waiting {
  const char* what = "";  ///< static text: "announcement", "data", "credit", "left", "release", ..
  int peer = -1;
};

struct Operation {
  Call call;
  Buffers buffers;
  std::uint64_t sequence = 0;
  std::int64_t timeout_ns = 0;

  OperationState state = OperationState::queued;
  Choice choice;         ///< no schedule: the announcements carry it all
  schedules::Plan plan;  ///< of `choice`
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
  std::uint32_t stage = 0;  ///< of the schedule, for the records
  Waiting waiting;

  /// When the driver first looked at the clock for this operation, and last; 0: it was over before
  /// that, within the polls that read no clock.
  std::int64_t first_look_ns = 0;
  std::int64_t last_look_ns = 0;

  /// Becomes another operation, which is queued. The old plan stays behind: without a choice it
  /// says nothing, and clearing it would take a good part of a small operation's time.
  void renew(const Call& new_call, const Buffers& new_buffers, std::uint64_t new_sequence,
             std::int64_t new_timeout_ns) {
    call = new_call;
    buffers = new_buffers;
    sequence = new_sequence;
    timeout_ns = new_timeout_ns;
    state = OperationState::queued;
    choice = {};
    step = steps = 0;
    stage = 0;
    waiting = {};
    first_look_ns = last_look_ns = 0;
  }
};

/// Sees each message as it is handed to a link. For tests and diagnosis; none in normal runs.
class Trace {
 public:
  struct Sent {
    std::uint64_t sequence;
    std::uint32_t stage;
    int peer;  ///< -1: cast to all peers
    std::uint64_t bytes;
  };
  virtual ~Trace() = default;
  virtual void sent(const Sent& sent) = 0;
};

}  // namespace gyre::collectives
