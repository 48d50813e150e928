#include "transport/bootstrap/hub.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gyre::transport {
namespace {

/// More names than this would hide the message.
constexpr int named_max = 16;
/// Sends that may wait for one slow rank: a word about every other rank, and a few exchanges.
constexpr std::size_t waiting_base = 64;

SharedBytes shared(std::vector<std::byte> framed) {
  return std::make_shared<const std::vector<std::byte>>(std::move(framed));
}

}  // namespace

Hub::Hub(ControlThread& control, std::unique_ptr<Listener> listener, int size, StarEvents& events)
    : control_(control),
      listener_(std::move(listener)),
      id_(listener_ ? listener_->id() : UniqueId{}),
      size_(size),
      events_(events),
      members_(static_cast<std::size_t>(size)) {
  begin_round(join_sequence);
  if (listener_) listener_->claim([this](Client client) { on_client(std::move(client)); });
}

Hub::~Hub() {
  control_.cancel(round_.expiry);
  for (Member& member : members_)
    if (member.connection) member.connection->close();
}

void Hub::on_client(Client client) {
  const int rank = client.hello.rank;
  const std::uint32_t timeout_ms = client.hello.timeout_ms;
  const Status status = admissible(client.hello);
  if (!status) {
    send_welcome(client, id_.secret, {status.code(), status.message()});
    return;
  }
  if (!send_welcome(client, id_.secret, {})) return;
  Connection::Handlers handlers;
  handlers.on_message = [this, rank](std::span<const std::byte> message) {
    return on_message(rank, message);
  };
  handlers.on_closed = [this, rank](const Status& why) { on_closed(rank, why); };
  auto connection = Connection::open(control_, std::move(client.socket), std::move(handlers),
                                     waiting_base + static_cast<std::size_t>(size_));
  if (!connection)
    return fail(
        failure_of(connection.status().code(), 0, connection.status().within("rank 0").message()));
  members_[static_cast<std::size_t>(rank)].connection = std::move(*connection);
  take(rank, {join_sequence, timeout_ms, {}});
}

Status Hub::admissible(const Hello& hello) const {
  const auto refused = [](std::string why) { return Status(Code::refused, std::move(why)); };
  if (hello.job_nonce != id_.job_nonce) return refused("it belongs to another job");
  if (hello.size != size_)
    return refused(
        fmt::format("it was told that there are {} ranks, rank 0 was told {}; start all "
                    "ranks with the same number",
                    hello.size, size_));
  if (hello.rank <= 0 || hello.rank >= size_)
    return refused(
        fmt::format("rank {} can't join: ranks 1 to {} may, and rank 0 is here; give "
                    "each process its own rank",
                    hello.rank, size_ - 1));
  if (failed_) return refused("the communicator has failed already");
  if (members_[static_cast<std::size_t>(hello.rank)].connection)
    return refused(
        fmt::format("rank {} has joined already; give each process its own rank", hello.rank));
  return {};
}

bool Hub::on_message(int rank, std::span<const std::byte> message) {
  switch (type_of(message).value_or(MessageType{})) {
    case MessageType::contribution: {
      const auto contribution = decode_contribution(message);
      return contribution && take(rank, *contribution);
    }
    case MessageType::failure: {
      const auto failure = decode_failure(message);
      if (!failure || failure->what.rank >= size_) return false;
      fail(*failure);
      return true;
    }
    case MessageType::goodbye: return decode_goodbye(message) && on_goodbye(rank);
    default: return false;
  }
}

bool Hub::on_goodbye(int rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  if (std::exchange(member.departed, true)) return false;
  send_all(shared(encode(Goodbye{rank})), rank);
  events_.on_departed(rank);
  check_departed();
  return true;
}

void Hub::on_closed(int rank, const Status& why) {
  const bool expected = members_[static_cast<std::size_t>(rank)].departed || failed_;
  if (expected) return;
  fail(failure_of(Code::peer_failed, rank,
                  fmt::format("rank {} is gone without leaving in order ({}): its process was "
                              "killed, crashed or exited, or it gave up; its own output says why",
                              rank, why.message())));
}

void Hub::contribute(std::uint32_t sequence, std::span<const std::byte> record,
                     std::uint32_t timeout_ms, Deadline) {
  take(0, {sequence, timeout_ms, record});
}

bool Hub::take(int rank, const Contribution& contribution) {
  auto& record = round_.records[static_cast<std::size_t>(rank)];
  const bool expected = contribution.sequence == round_.sequence && !record &&
                        contribution.record.size() <= Group::record_bytes_max;
  if (!expected) return false;
  if (failed_) return true;
  record.emplace(contribution.record.begin(), contribution.record.end());
  if (--round_.missing == 0) {
    finish_round();
    return true;
  }
  const auto deadline =
      Deadline::after(monotonic_now(), Nanoseconds{contribution.timeout_ms} * nanoseconds_per_ms);
  if (deadline.at() < round_.deadline.at()) {
    control_.cancel(round_.expiry);
    round_.deadline = deadline;
    round_.timeout_ms = contribution.timeout_ms;
    round_.expiry = control_.at(deadline, [this] { expire(); });
  }
  check_departed();
  return true;
}

void Hub::begin_round(std::uint32_t sequence) {
  control_.cancel(round_.expiry);
  round_ = Round{};
  round_.sequence = sequence;
  round_.records.resize(static_cast<std::size_t>(size_));
  round_.missing = size_;
}

void Hub::finish_round() {
  Round done = std::move(round_);
  control_.cancel(done.expiry);
  begin_round(done.sequence + 1);

  // One buffer for all members, however many they are.
  std::vector<std::byte> framed;
  const auto append = [&framed](const std::vector<std::byte>& frame) {
    framed.insert(framed.end(), frame.begin(), frame.end());
  };
  for (int rank = 0; rank < size_ && done.sequence != join_sequence; ++rank) {
    const auto& record = *done.records[static_cast<std::size_t>(rank)];
    append(encode(Record{done.sequence, rank, record}));
    events_.on_record(done.sequence, rank, record);
  }
  append(encode(RoundComplete{done.sequence}));
  if (done.sequence == join_sequence) close_listener();
  send_all(shared(std::move(framed)));
  events_.on_complete(done.sequence);
}

/// Nobody else may come. Later, because it is the listener who brought us here.
void Hub::close_listener() {
  control_.post([closing = std::shared_ptr<Listener>(std::move(listener_))] {});
}

/// Whoever waits for a rank that has left would wait in vain.
void Hub::check_departed() {
  if (round_.missing == size_) return;
  for (int rank = 0; rank < size_; ++rank) {
    if (!members_[static_cast<std::size_t>(rank)].departed) continue;
    if (round_.records[static_cast<std::size_t>(rank)]) continue;
    return fail(failure_of(Code::peer_failed, rank,
                           fmt::format("rank {} has left, but others still wait for it", rank)));
  }
}

void Hub::expire() {
  const bool joining = round_.sequence == join_sequence;
  std::string text =
      fmt::format("{} of {} did not {} within {} ms: {}", names_of_missing(), size_,
                  joining ? "join" : "reach the exchange of records", round_.timeout_ms,
                  joining ? "see whether they were started, with this unique id, and "
                            "whether they can reach rank 0"
                          : "see whether they are stopped or still busy elsewhere");
  const auto missing = std::ranges::find_if(round_.records, [](const auto& r) { return !r; });
  fail(failure_of(Code::timeout, static_cast<int>(missing - round_.records.begin()),
                  std::move(text)));
}

std::string Hub::names_of_missing() const {
  std::string names;
  int count = 0;
  for (int rank = 0; rank < size_; ++rank) {
    if (round_.records[static_cast<std::size_t>(rank)]) continue;
    if (count++ < named_max) names += fmt::format("{}{}", names.empty() ? "" : ", ", rank);
  }
  if (count > named_max) names += fmt::format(" and {} more", count - named_max);
  return fmt::format("{} {}", count == 1 ? "rank" : "ranks", names);
}

void Hub::fail(const GroupFailure& failure) {
  if (failed_) return;
  spread(failure);
  events_.on_failure(failure);
}

void Hub::spread(const GroupFailure& failure) {
  if (std::exchange(failed_, true)) return;
  control_.cancel(round_.expiry);
  send_all(shared(encode(failure)));
}

void Hub::say_goodbye() {
  members_[0].departed = true;
  send_all(shared(encode(Goodbye{0})));
}

void Hub::send_all(const SharedBytes& framed, int but) {
  for (int rank = 1; rank < size_; ++rank) {
    const Member& member = members_[static_cast<std::size_t>(rank)];
    if (member.connection && rank != but) member.connection->send(framed);
  }
}

}  // namespace gyre::transport
