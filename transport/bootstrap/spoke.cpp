#include "transport/bootstrap/spoke.hpp"

#include <fmt/format.h>

#include <utility>

#include "transport/bootstrap/messages.hpp"

namespace gyre::transport {
namespace {

/// Rank 0 knows who is missing and says so at the deadline; this is how long we wait for its word.
constexpr Nanoseconds verdict_grace_ns = 1'000 * nanoseconds_per_ms;
constexpr std::size_t waiting_max = 64;

}  // namespace

Spoke::Spoke(ControlThread& control, const UniqueId& id, int rank, int size, StarEvents& events)
    : control_(control), id_(id), rank_(rank), size_(size), events_(events) {}

Spoke::~Spoke() {
  control_.cancel(verdict_);
  if (connection_) connection_->close();
}

void Spoke::contribute(std::uint32_t sequence, std::span<const std::byte> record,
                       std::uint32_t timeout_ms, Deadline deadline) {
  if (sequence == join_sequence) return connect(timeout_ms, deadline);
  wait_for_verdict(timeout_ms, deadline);
  if (connection_) connection_->send(encode(Contribution{sequence, timeout_ms, record}));
}

void Spoke::connect(std::uint32_t timeout_ms, Deadline deadline) {
  Connector::Request request;
  request.address = id_.address;
  request.secret = id_.secret;
  request.hello.purpose = Purpose::join;
  request.hello.build = build_version();
  request.hello.job_nonce = id_.job_nonce;
  request.hello.rank = rank_;
  request.hello.size = size_;
  request.hello.timeout_ms = timeout_ms;
  request.deadline = deadline;
  request.server = "rank 0";
  wait_for_verdict(timeout_ms, deadline);
  connector_ = std::make_unique<Connector>(
      control_, std::move(request),
      [this](Result<UniqueFd> socket) { on_connected(std::move(socket)); });
  connector_->start();
}

void Spoke::on_connected(Result<UniqueFd> socket) {
  if (socket.ok()) {
    Connection::Handlers handlers;
    handlers.on_message = [this](std::span<const std::byte> message) {
      return on_message(message);
    };
    handlers.on_closed = [this](const Status& why) { on_closed(why); };
    auto connection =
        Connection::open(control_, std::move(*socket), std::move(handlers), waiting_max);
    if (connection.ok()) {
      connection_ = std::move(*connection);
      return;
    }
    socket = connection.status();
  }
  control_.cancel(verdict_);
  const Code code = socket.status().code();
  events_.on_failure(
      failure_of(code, code == Code::timeout ? 0 : rank_, socket.status().message()));
}

bool Spoke::on_message(std::span<const std::byte> message) {
  switch (type_of(message).value_or(MessageType{})) {
    case MessageType::record: {
      const auto record = decode_record(message);
      if (!record || record->rank < 0 || record->rank >= size_) return false;
      events_.on_record(record->sequence, record->rank, record->record);
      return true;
    }
    case MessageType::round_complete: {
      const auto complete = decode_round_complete(message);
      if (!complete) return false;
      control_.cancel(verdict_);
      events_.on_complete(complete->sequence);
      return true;
    }
    case MessageType::failure: {
      const auto failure = decode_failure(message);
      if (!failure || failure->what.rank >= size_) return false;
      control_.cancel(verdict_);
      events_.on_failure(*failure);
      return true;
    }
    case MessageType::goodbye: {
      const auto goodbye = decode_goodbye(message);
      if (!goodbye || goodbye->rank < 0 || goodbye->rank >= size_) return false;
      if (goodbye->rank == 0) hub_departed_ = true;
      events_.on_departed(goodbye->rank);
      return true;
    }
    default: return false;
  }
}

void Spoke::on_closed(const Status& why) {
  control_.cancel(verdict_);
  if (hub_departed_) return;
  events_.on_failure(
      failure_of(Code::peer_failed, 0,
                 fmt::format("rank 0 is gone without leaving in order ({}): its process was "
                             "killed, crashed or exited, or it gave up; its own output says why",
                             why.message())));
}

void Spoke::wait_for_verdict(std::uint32_t timeout_ms, Deadline deadline) {
  control_.cancel(verdict_);
  if (deadline.never()) return;
  verdict_ = control_.at(Deadline::after(deadline.at(), verdict_grace_ns), [this, timeout_ms] {
    events_.on_failure(
        failure_of(Code::timeout, 0,
                   fmt::format("rank 0 has not answered for {} ms; see whether its process is "
                               "stopped, or its host unreachable",
                               timeout_ms)));
  });
}

void Spoke::spread(const GroupFailure& failure) {
  if (connection_) connection_->send(encode(failure));
}

void Spoke::say_goodbye() {
  if (connection_) connection_->send(encode(Goodbye{rank_}));
}

}  // namespace gyre::transport
