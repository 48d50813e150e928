// One rank of a simulated run, as its user sees it: buffers with guards around them, the calls one
// after the other, and a look at every byte when a call has ended. It drives the runtime's own
// Communicator, with the deadlines of the real driver, one step at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "collectives/communicator.hpp"
#include "tests/sim/scenario.hpp"
#include "transport/sim/network.hpp"
#include "transport/sim/world.hpp"

namespace gyre::sim {

/// The memory of one call of one rank: input and output, apart or in place, with guards around.
class CallBuffers {
 public:
  CallBuffers(const Scenario& scenario, std::size_t index, int rank, transport::SimMemory& memory);

  const collectives::Buffers& buffers() const { return buffers_; }
  /// After an ok: "" or what is wrong with the output, or with what surrounds it.
  std::string check_result() const;
  /// After a failure: "" or what was written outside of the output.
  std::string check_surroundings() const;
  /// The user reuses its memory.
  void reuse();
  /// After reuse: "" or who has written there since.
  std::string check_reused() const;
  /// The output's bytes, before reuse.
  std::vector<std::byte> output() const;

 private:
  std::string check_rough() const;
  std::string check_exact() const;
  double input_value(int rank, std::size_t element) const;
  bool in_output(std::size_t at) const {
    return at >= output_at_ && at < output_at_ + output_bytes_;
  }

  const Scenario& scenario_;
  const SharedCall& shared_;
  const collectives::Call call_;
  const bool rough_;  ///< the odd rank's own call is not, whatever the others' is
  const std::size_t index_;
  const int rank_;
  std::vector<std::byte> own_;     ///< where the memory is plain
  std::span<std::byte> region_;    ///< all of it, guards included
  std::vector<std::byte> before_;  ///< what it held at the start
  std::size_t output_at_ = 0;
  std::size_t output_bytes_ = 0;
  collectives::Buffers buffers_;
};

struct CallResult {
  enum class State : std::uint8_t { not_started, running, ok, failed };
  State state = State::not_started;
  int ends = 0;           ///< how often it has ended: exactly once, if at all
  Status status;          ///< of a failed one
  std::string complaint;  ///< about its memory
  std::string algorithm;
  std::vector<std::byte> output;  ///< of an ok one
  Nanoseconds waits_from = 0;     ///< first look at the clock
  Nanoseconds ended_at = 0;
};

class User {
 public:
  User(const Scenario& scenario, transport::SimNetwork& network, int rank);

  transport::SimStep step(Nanoseconds now);

  const std::vector<CallResult>& results() const { return results_; }
  /// What the transport says, once a call has failed.
  const transport::Failure& failure() const { return failure_; }
  /// At the end of the run: "" or the first thing that is wrong with this rank's memory.
  std::string check_memory() const;
  bool done() const { return done_; }

 private:
  void start_calls(Nanoseconds now);
  void end_calls(Nanoseconds now);
  transport::SimStep fail_calls(Nanoseconds now);
  transport::SimStep wait(Nanoseconds now);
  transport::SimStep go_on();
  transport::SimStep finish();

  const Scenario& scenario_;
  transport::SimNetwork& network_;
  const int rank_;
  transport::Endpoint& endpoint_;
  collectives::Communicator communicator_;
  std::vector<std::unique_ptr<CallBuffers>> buffers_;
  std::vector<CallResult> results_;
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  Nanoseconds thinks_until_ = 0;
  bool prepared_ = false;  ///< between prepare_sleep and sleep
  bool refused_ = false;   ///< a call was not taken: the communicator had failed
  bool done_ = false;
  transport::Failure failure_;
};

}  // namespace gyre::sim
