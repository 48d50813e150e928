#include "transport/bootstrap/acceptor.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/hmac.hpp"
#include "transport/bootstrap/socket.hpp"

namespace gyre::transport {
namespace {

/// Much less than the table holds: between two turns, those who are in it get to say their hello.
constexpr int accepts_per_turn_max = 4;
constexpr Nanoseconds pause_ns = 20 * nanoseconds_per_ms;

bool send_whole(int socket, std::span<const std::byte> bytes) {
  const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::string version_text(std::uint32_t build) {
  return fmt::format("{}.{}.{}", build >> 16, build >> 8 & 0xff, build & 0xff);
}

}  // namespace

bool send_welcome(const Client& client, const Secret& secret, const Welcome& welcome) {
  const auto bytes =
      encode_welcome(secret, client.server_nonce, client.hello.client_nonce, welcome);
  // The socket is fresh: what does not fit into its buffer now will not be read either.
  return bytes.ok() && send_whole(client.socket.get(), *bytes);
}

Acceptor::Acceptor(ControlThread& control, UniqueFd listening, const Options& options,
                   OnClient on_client)
    : control_(control),
      listening_(std::move(listening)),
      options_(options),
      on_client_(std::move(on_client)) {}

Acceptor::~Acceptor() {
  control_.cancel(resume_);
  if (watch_ != 0) control_.unwatch(watch_);
  while (!strangers_.empty()) dismiss(strangers_.begin()->first, Parting::reset);
}

Status Acceptor::start() {
  const auto watch =
      control_.watch(listening_.get(), EPOLLIN, [this](std::uint32_t) { accept_some(); });
  if (!watch) return watch.status();
  watch_ = *watch;
  return {};
}

void Acceptor::accept_some() {
  for (int i = 0; i < accepts_per_turn_max; ++i) {
    auto socket = accept_from(listening_.get());
    if (!socket) {
      // Descriptors are used up. A stranger's is the one to free; without any, try again later
      // rather than be woken for the same connection over and over.
      if (strangers_.empty()) return pause();
      dismiss(strangers_.begin()->first, Parting::reset);
      continue;
    }
    if (!*socket) return;
    admit(std::move(*socket));
  }
}

void Acceptor::pause() {
  control_.change(watch_, 0);
  resume_ = control_.at(Deadline::after(monotonic_now(), pause_ns),
                        [this] { control_.change(watch_, EPOLLIN); });
}

void Acceptor::admit(UniqueFd socket) {
  if (options_.same_user && !check_same_user(socket.get())) return;
  if (strangers_.size() >= strangers_max) dismiss(strangers_.begin()->first, Parting::reset);

  const Number number = next_number_++;
  Stranger stranger;
  stranger.socket = std::move(socket);
  if (!fill_random(stranger.server_nonce)) return;
  if (!send_whole(stranger.socket.get(), encode_challenge(stranger.server_nonce))) return;
  const auto watch = control_.watch(stranger.socket.get(), EPOLLIN,
                                    [this, number](std::uint32_t) { read_from(number); });
  if (!watch) return;
  stranger.watch = *watch;
  stranger.expiry = control_.at(Deadline::after(monotonic_now(), budget_ns),
                                [this, number] { dismiss(number, Parting::reset); });
  strangers_.emplace(number, std::move(stranger));
}

void Acceptor::read_from(Number number) {
  const auto found = strangers_.find(number);
  if (found == strangers_.end()) return;
  Stranger& stranger = found->second;
  if (!receive(stranger, Hello::prefix_bytes)) return dismiss(number, Parting::quiet);
  if (stranger.received_bytes < Hello::prefix_bytes) return;
  const auto bytes = hello_bytes(std::span(stranger.received).first(Hello::prefix_bytes));
  if (!bytes || !receive(stranger, *bytes)) return dismiss(number, Parting::quiet);
  if (stranger.received_bytes == *bytes) judge(number);
}

/// Reads until `bytes` have come, and never more: what follows a hello is for the connection's next
/// owner. False when the other end has closed.
bool Acceptor::receive(Stranger& stranger, std::size_t bytes) const {
  while (stranger.received_bytes < bytes) {
    const ssize_t got =
        ::recv(stranger.socket.get(), stranger.received.data() + stranger.received_bytes,
               bytes - stranger.received_bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got <= 0) return false;
    stranger.received_bytes += static_cast<std::size_t>(got);
  }
  return true;
}

void Acceptor::judge(Number number) {
  Stranger& stranger = strangers_.at(number);
  const auto hello = decode_hello(options_.secret, stranger.server_nonce,
                                  std::span(stranger.received).first(stranger.received_bytes));
  // Closed in order, not reset: that is how an honest client with a wrong secret can tell.
  if (!hello) return dismiss(number, Parting::quiet);
  control_.unwatch(stranger.watch);
  control_.cancel(stranger.expiry);
  Client client{std::move(stranger.socket), *hello, stranger.server_nonce};
  strangers_.erase(number);
  if (speaks_our_language(client)) on_client_(std::move(client));
}

bool Acceptor::speaks_our_language(const Client& client) const {
  Welcome refusal{Code::refused, {}};
  if (client.hello.protocol != protocol_version)
    refusal.refusal = fmt::format(
        "it speaks protocol {} and this side protocol {}; run the same build of gyre on every rank",
        client.hello.protocol, protocol_version);
  else if (client.hello.build != build_version())
    refusal.refusal =
        fmt::format("it runs gyre {} and this side gyre {}; run the same build on every rank",
                    version_text(client.hello.build), version_text(build_version()));
  else if (client.hello.purpose != options_.purpose)
    refusal.refusal = "it connected to a socket that serves something else";
  else
    return true;
  send_welcome(client, options_.secret, refusal);
  return false;
}

void Acceptor::dismiss(Number number, Parting parting) {
  const auto found = strangers_.find(number);
  if (found == strangers_.end()) return;
  control_.cancel(found->second.expiry);
  control_.unwatch(found->second.watch);
  if (parting == Parting::reset) {
    // An honest client that had to make room sees a reset and tries again.
    const linger at_once = {1, 0};
    ::setsockopt(found->second.socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  strangers_.erase(found);
}

}  // namespace gyre::transport
