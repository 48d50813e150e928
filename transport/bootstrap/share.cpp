#include "transport/bootstrap/share.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/hmac.hpp"

namespace gyre::transport {
namespace {

constexpr std::size_t waiting_base = 16;

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

Result<UniqueFd> duplicate(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return system_error("F_DUPFD_CLOEXEC", errno);
  return copy;
}

}  // namespace

ShareGiver::ShareGiver(ControlThread& control, const ShareTerms& terms)
    : control_(control), terms_(terms), members_(index(terms.size)) {}

ShareGiver::~ShareGiver() {
  for (Member& member : members_)
    if (member.connection) member.connection->close();
}

Result<AbstractName> ShareGiver::open(int memfd) {
  if (auto status = check_sealed_memory(memfd, terms_.bytes); !status) return status;
  auto memory = duplicate(memfd);
  if (!memory) return memory.status();
  auto departures = DeparturePage::make(terms_.size);
  if (!departures) return departures.status();
  auto pidfd = own_pidfd();
  if (!pidfd) return pidfd.status();
  AbstractName name;
  auto listening = listen_on_fresh_name(name);
  if (!listening) return listening.status();
  Acceptor::Options options;
  options.secret = terms_.id.secret;
  options.purpose = Purpose::share;
  options.same_user = true;
  acceptor_ = std::make_unique<Acceptor>(control_, std::move(*listening), options,
                                         [this](Client client) { on_client(std::move(client)); });
  if (auto status = acceptor_->start(); !status) return status;
  shared_.memory = std::move(*memory);
  shared_.departures = std::move(*departures);
  introduce(terms_.rank, control_.process_token(), std::move(*pidfd));
  members_[index(terms_.rank)].confirmed = true;
  return name;
}

void ShareGiver::on_client(Client client) {
  const int rank = client.hello.rank;
  const bool admissible = client.hello.job_nonce == terms_.id.job_nonce && rank > terms_.rank &&
                          rank < terms_.size && !members_[index(rank)].connection;
  if (!admissible) {
    send_welcome(client, terms_.id.secret, {Code::refused, "this rank was not expected here"});
    return;
  }
  if (!send_welcome(client, terms_.id.secret, {})) return;
  Connection::Handlers handlers;
  handlers.on_message = [this, rank](std::span<const std::byte> message) {
    return on_message(rank, message);
  };
  // Its control connection, or the deadline, tells what has become of it.
  handlers.on_closed = [](const Status&) {};
  auto connection = Connection::open(control_, std::move(client.socket), std::move(handlers),
                                     waiting_base + 2 * index(terms_.size));
  if (connection.ok()) members_[index(rank)].connection = std::move(*connection);
}

bool ShareGiver::on_message(int rank, std::span<const std::byte> message) {
  Member& member = members_[index(rank)];
  if (const auto process = decode_process(message); process && !member.introduced) {
    UniqueFd pidfd = member.connection->claim_descriptor();
    if (!pidfd) return false;
    introduce(rank, process->token, std::move(pidfd));
    return true;
  }
  if (!decode_received(message) || !member.introduced) return false;
  member.confirmed = true;
  member.connection->close();
  serve_next();
  return true;
}

void ShareGiver::introduce(int rank, const ProcessToken& token, UniqueFd pidfd) {
  Member& member = members_[index(rank)];
  member.token = token;
  member.pidfd = std::move(pidfd);
  member.introduced = true;
  if (!std::ranges::all_of(members_, &Member::introduced)) return;
  for (const Member& each : members_) {
    const auto same = [&](const Member& other) { return other.token == each.token; };
    const auto first = std::ranges::find_if(members_, same);
    first_.push_back(static_cast<int>(first - members_.begin()));
  }
  if (rank != terms_.rank) serve_next();
}

void ShareGiver::serve_next() {
  for (int rank = 0; rank < terms_.size; ++rank)
    if (!members_[index(rank)].confirmed) return serve(members_[index(rank)], rank);
  finish();
}

void ShareGiver::serve(Member& member, int rank) {
  const int memory[] = {shared_.memory.get(), shared_.departures.get()};
  member.connection->send(encode(SharedMemory{terms_.bytes}), memory);
  for (int other = 0; other < terms_.size; ++other) {
    const int first = first_[index(other)];
    const bool foreign = first == other && first != first_[index(rank)];
    const int pidfd[] = {members_[index(other)].pidfd.get()};
    member.connection->send(encode(Lifeline{other, first, foreign}),
                            std::span(pidfd).first(foreign ? 1 : 0));
  }
}

void ShareGiver::give(OnShared on_shared) {
  on_shared_ = std::move(on_shared);
  finish();
}

void ShareGiver::finish() {
  if (!on_shared_ || !std::ranges::all_of(members_, &Member::confirmed)) return;
  acceptor_.reset();
  shared_.processes = processes();
  std::exchange(on_shared_, nullptr)(std::move(shared_));
}

Processes ShareGiver::processes() {
  Processes processes{first_, std::vector<UniqueFd>(members_.size())};
  for (int rank = 0; rank < terms_.size; ++rank)
    if (first_[index(rank)] == rank && rank != first_[index(terms_.rank)])
      processes.pidfds[index(rank)] = std::move(members_[index(rank)].pidfd);
  return processes;
}

std::string ShareGiver::names_of_missing() const {
  std::string names;
  int count = 0;
  for (int rank = 0; rank < terms_.size; ++rank) {
    if (members_[index(rank)].confirmed) continue;
    names += fmt::format("{}{}", count++ == 0 ? "" : ", ", rank);
  }
  return fmt::format("{} {}", count == 1 ? "rank" : "ranks", names);
}

ShareTaker::ShareTaker(ControlThread& control, const ShareTerms& terms, OnShared on_shared)
    : control_(control), terms_(terms), on_shared_(std::move(on_shared)) {
  shared_.processes.pidfds.resize(index(terms.size));
}

ShareTaker::~ShareTaker() {
  if (connection_) connection_->close();
}

void ShareTaker::take(const AbstractName& giver, Deadline deadline) {
  Connector::Request request;
  request.address = giver;
  request.secret = terms_.id.secret;
  request.hello.purpose = Purpose::share;
  request.hello.build = build_version();
  request.hello.job_nonce = terms_.id.job_nonce;
  request.hello.rank = terms_.rank;
  request.hello.size = terms_.size;
  request.deadline = deadline;
  request.server = "rank 0's shared memory";
  request.same_user = true;
  request.retry_absent = false;
  connector_ = std::make_unique<Connector>(
      control_, std::move(request),
      [this](Result<UniqueFd> socket) { on_connected(std::move(socket)); });
  connector_->start();
}

void ShareTaker::on_connected(Result<UniqueFd> socket) {
  if (!socket) {
    if (socket.status().code() != Code::unsupported) return finish(socket.status());
    return finish(Status(
        Code::unsupported,
        fmt::format("rank {} can't reach rank 0's shared memory, so it is on another host or in "
                    "another network namespace (container); in this version all ranks of a "
                    "communicator must share one host and network namespace",
                    terms_.rank)));
  }
  auto pidfd = own_pidfd();
  if (!pidfd) return finish(pidfd.status());
  Connection::Handlers handlers;
  handlers.on_message = [this](std::span<const std::byte> message) { return on_message(message); };
  handlers.on_closed = [this](const Status& why) {
    finish(why.within("rank 0 did not hand over its shared memory"));
  };
  auto connection =
      Connection::open(control_, std::move(*socket), std::move(handlers), waiting_base);
  if (!connection) return finish(connection.status());
  connection_ = std::move(*connection);
  const int descriptor[] = {pidfd->get()};
  connection_->send(encode(Process{control_.process_token()}), descriptor);
}

bool ShareTaker::on_message(std::span<const std::byte> message) {
  return shared_.memory ? on_lifeline(message) : on_memory(message);
}

bool ShareTaker::on_memory(std::span<const std::byte> message) {
  const auto memory = decode_shared_memory(message);
  if (!memory) return false;
  shared_.memory = connection_->claim_descriptor();
  shared_.departures = connection_->claim_descriptor();
  if (!shared_.memory || !shared_.departures) return false;
  if (auto status = check_sealed_memory(shared_.memory.get(), terms_.bytes); !status)
    finish(status.within("what rank 0 shares"));
  return true;
}

bool ShareTaker::on_lifeline(std::span<const std::byte> message) {
  const auto lifeline = decode_lifeline(message);
  auto& processes = shared_.processes;
  const int next = static_cast<int>(processes.first.size());
  if (!lifeline || lifeline->rank != next || next >= terms_.size) return false;
  if (lifeline->first < 0 || lifeline->first > next) return false;
  processes.first.push_back(lifeline->first);
  if (lifeline->has_descriptor) {
    processes.pidfds[index(next)] = connection_->claim_descriptor();
    if (!processes.pidfds[index(next)]) return false;
  }
  if (next + 1 < terms_.size) return true;
  connection_->send(encode(Received{}));
  finish(std::move(shared_));
  return true;
}

void ShareTaker::finish(Result<Shared> result) {
  if (std::exchange(done_, true)) return;
  if (connection_) connection_->close();
  on_shared_(std::move(result));
}

}  // namespace gyre::transport
