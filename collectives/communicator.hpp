// The operations of one rank of one communicator: started in the order of the calls, run one after
// the other, remembered for diagnosis. No thread, no clock, no waiting in here; see driver.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "collectives/engine.hpp"
#include "collectives/operation.hpp"
#include "transport/endpoint.hpp"

namespace gyre::collectives {

class Communicator {
 public:
  /// Operations that may be started and not yet finished; as many are remembered.
  static constexpr std::uint64_t operations_max = 256;

  /// `endpoint` must outlive the communicator.
  Communicator(transport::Endpoint& endpoint, EngineOptions options);

  int rank() const { return endpoint_.rank(); }
  int size() const { return endpoint_.size(); }

  /// Queues an operation; its sequence number is its name. Arguments have been checked. Refused
  /// when the communicator has failed or operations_max are in flight.
  Result<std::uint64_t> start(const Call& call, const Buffers& buffers, std::int64_t timeout_ns);

  /// Advances the oldest unfinished operation by a bounded amount; `finished` when there is none.
  Progress progress();

  bool finished(std::uint64_t sequence) const { return sequence <= finished_; }
  std::uint64_t operations_started() const { return started_; }
  std::uint64_t operations_finished() const { return finished_; }
  /// Payload handed to links so far.
  std::uint64_t bytes_sent() const;
  /// Of the last operation that was started; "" before.
  std::string_view last_algorithm() const;

  /// The oldest unfinished operation, or nullptr.
  Operation* current() { return finished_ < started_ ? &slot(finished_ + 1) : nullptr; }
  /// A remembered operation, or nullptr: it is too old or has not been started.
  const Operation* find(std::uint64_t sequence) const;

  /// ok, or why the communicator has failed, in full sentences.
  Status failure() const;

  /// Tells the peers how far the current operation has come. For a wait that has become long.
  void note_progress();
  /// Fails the operation that waits for a call of a rank which has left the communicator.
  void notice_departures();

  /// Fails the communicator because `operation` has passed its deadline; names who is behind.
  void expire(const Operation& operation);

  /// The last operations, the state of each, who has entered the current one and who has not.
  std::string report() const;

  transport::Endpoint& endpoint() { return endpoint_; }
  const EngineOptions& options() const { return engine_.options(); }

 private:
  Operation& slot(std::uint64_t sequence) { return operations_[sequence % operations_max]; }
  const Operation& slot(std::uint64_t sequence) const {
    return operations_[sequence % operations_max];
  }
  std::vector<int> missing_from(std::uint64_t sequence) const;
  int slowest_rank(const Operation& operation) const;

  transport::Endpoint& endpoint_;
  Engine engine_;
  std::vector<Operation> operations_;
  std::uint64_t started_ = 0;
  std::uint64_t finished_ = 0;
  bool begun_ = false;  ///< the engine has taken up the current operation
};

}  // namespace gyre::collectives
