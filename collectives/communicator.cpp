#include "collectives/communicator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "collectives/failure.hpp"

namespace gyre::collectives {

namespace {

/// Operations that a report shows.
constexpr std::uint64_t report_operations_max = 16;

/// What Endpoint::note carries: the operation, then the step in it.
constexpr std::uint64_t steps_noted_max = 0xffffffff;
constexpr std::uint64_t standing(std::uint64_t sequence, std::uint64_t step) {
  return sequence << 32 | std::min(step, steps_noted_max);
}

std::string_view name_of(OperationState state) {
  switch (state) {
    case OperationState::queued: return "queued";
    case OperationState::announcing: return "announcing";
    case OperationState::collecting: return "collecting calls";
    case OperationState::exchanging: return "exchanging";
    case OperationState::running: return "running";
    case OperationState::draining: return "draining";
    case OperationState::finished: return "finished";
  }
  return "?";
}

std::string describe(const Operation& operation) {
  std::string text = fmt::format("operation {}: {}, {}", operation.sequence,
                                 describe(operation.call), name_of(operation.state));
  if (operation.choice.schedule) {
    text += fmt::format(", {} step {} of {} (stage {})", operation.choice.schedule->algorithm,
                        operation.step, operation.steps, operation.stage);
  }
  if (operation.first_look_ns > 0) {
    text += fmt::format(
        ", {:.1f} ms", static_cast<double>(operation.last_look_ns - operation.first_look_ns) / 1e6);
  }
  if (operation.state != OperationState::finished && operation.waiting.what[0] != '\0') {
    text += fmt::format(", waiting for {}", operation.waiting.what);
    if (operation.waiting.peer >= 0) text += fmt::format(" (rank {})", operation.waiting.peer);
  }
  return text;
}

}  // namespace

Communicator::Communicator(transport::Endpoint& endpoint, EngineOptions options)
    : endpoint_(endpoint), engine_(endpoint, std::move(options)), operations_(operations_max) {}

Result<std::uint64_t> Communicator::start(const Call& call, const Buffers& buffers,
                                          std::int64_t timeout_ns) {
  if (endpoint_.aborted()) return failure();
  if (started_ - finished_ == operations_max) {
    return Status(
        Code::out_of_resources,
        fmt::format("{} operations of this communicator are in flight, the most there may "
                    "be: wait for some",
                    operations_max));
  }
  const std::uint64_t sequence = ++started_;
  Operation& operation = slot(sequence);
  operation.renew(call, buffers, sequence, timeout_ns);
  return sequence;
}

Progress Communicator::progress() {
  while (finished_ < started_) {
    Operation& operation = slot(finished_ + 1);
    if (!begun_) {
      if (endpoint_.aborted()) return Progress::failed;
      if (Status status = engine_.begin(operation); !status) {
        transport::Failure failure;
        failure.code = status.code();
        failure.rank = failure.reporter = rank();
        failure.sequence = operation.sequence;
        endpoint_.abort(failure);
        return Progress::failed;
      }
      begun_ = true;
    }
    const Progress progress = engine_.progress();
    if (progress != Progress::finished) return progress;
    if (operation.steps > 0) endpoint_.note(standing(operation.sequence, steps_noted_max));
    operation.state = OperationState::finished;
    begun_ = false;
    ++finished_;
    if (finished_ < started_) return Progress::working;
  }
  return Progress::finished;
}

const Operation* Communicator::find(std::uint64_t sequence) const {
  if (sequence == 0 || sequence > started_ || sequence + operations_max <= started_) return nullptr;
  return &slot(sequence);
}

std::uint64_t Communicator::bytes_sent() const { return engine_.bytes_sent(); }

std::string_view Communicator::last_algorithm() const {
  if (started_ == 0) return "";
  const auto* schedule = slot(started_).choice.schedule;
  return schedule ? schedule->algorithm : "announcement";
}

std::vector<int> Communicator::missing_from(std::uint64_t sequence) const {
  std::vector<int> missing;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank() && endpoint_.last_announced(peer) < sequence) missing.push_back(peer);
  return missing;
}

void Communicator::note_progress() {
  const Operation* operation = current();
  if (operation && operation->state == OperationState::running)
    endpoint_.note(standing(operation->sequence, operation->step));
}

void Communicator::notice_departures() {
  const Operation* operation = current();
  if (!operation) return;
  const int awaited = operation->waiting.peer;  // -1: all peers
  const int begin = awaited < 0 ? 0 : awaited;
  const int end = awaited < 0 ? size() : awaited + 1;
  for (int peer = begin; peer < end; ++peer) {
    if (peer == rank()) continue;
    // In this order: what it announced was there before it left.
    if (!endpoint_.has_departed(peer) || endpoint_.last_announced(peer) >= operation->sequence)
      continue;
    transport::Failure failure;
    failure.code = Code::peer_failed;
    failure.rank = peer;
    failure.reporter = rank();
    failure.sequence = operation->sequence;
    return endpoint_.abort(failure);
  }
}

int Communicator::slowest_rank(const Operation& operation) const {
  const std::vector<int> missing = missing_from(operation.sequence);
  if (!missing.empty()) return missing.front();
  if (operation.state != OperationState::running) return operation.waiting.peer;
  // Everybody who waits has noted at which step; who has come least far keeps the others.
  int slowest = operation.waiting.peer;
  std::uint64_t least = slowest >= 0 ? endpoint_.noted(slowest) : ~std::uint64_t{0};
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank() || endpoint_.noted(peer) >= least) continue;
    slowest = peer;
    least = endpoint_.noted(peer);
  }
  return slowest;
}

void Communicator::expire(const Operation& operation) {
  transport::Failure failure;
  failure.code = Code::timeout;
  failure.rank = slowest_rank(operation);
  failure.reporter = rank();
  failure.sequence = operation.sequence;
  endpoint_.abort(failure);
}

Status Communicator::failure() const {
  if (!endpoint_.aborted()) return {};
  return explain(endpoint_.failure(), missing_from(endpoint_.failure().sequence));
}

std::string Communicator::report() const {
  std::string text;
  const std::uint64_t first =
      started_ > report_operations_max ? started_ - report_operations_max + 1 : 1;
  for (std::uint64_t sequence = first; sequence <= started_; ++sequence)
    text += fmt::format("  {}\n", describe(slot(sequence)));
  if (finished_ < started_) {
    const std::vector<int> missing = missing_from(finished_ + 1);
    text += missing.empty() ? fmt::format("  every rank has entered operation {}\n", finished_ + 1)
                            : fmt::format("  operation {} has not been entered by rank {}\n",
                                          finished_ + 1, fmt::join(missing, ", "));
  }
  return text;
}

}  // namespace gyre::collectives
