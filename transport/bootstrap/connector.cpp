#include "transport/bootstrap/connector.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/hmac.hpp"

namespace gyre::transport {
namespace {

constexpr Nanoseconds first_pause_ns = 2 * nanoseconds_per_ms;
constexpr Nanoseconds last_pause_ns = 200 * nanoseconds_per_ms;
/// How long the first attempt may take to connect; each next one twice as long. A new attempt beats
/// the kernel's own repetition of a lost first packet, which waits for a second and more.
constexpr Nanoseconds first_attempt_ns = 250 * nanoseconds_per_ms;
constexpr Nanoseconds last_attempt_ns = 8'000 * nanoseconds_per_ms;
/// A server closes in order on a wrong proof. Once may be its death at that very moment.
constexpr int rejections_max = 2;

std::string words(int error) { return std::generic_category().message(error); }

}  // namespace

Connector::Connector(ControlThread& control, Request request, OnDone on_done)
    : control_(control),
      request_(std::move(request)),
      on_done_(std::move(on_done)),
      pause_ns_(first_pause_ns),
      attempt_ns_(first_attempt_ns) {}

Connector::~Connector() {
  control_.cancel(expiry_);
  control_.cancel(retry_);
  drop_socket();
}

void Connector::start() {
  if (auto status = fill_random(request_.hello.client_nonce); !status) return finish(status);
  expiry_ = control_.at(request_.deadline, [this] { expire(); });
  try_once();
}

void Connector::try_once() {
  auto connecting = connect_to(request_.address);
  if (!connecting.socket)
    return finish(system_error("socket", connecting.error)
                      .within(fmt::format("connecting to {}", request_.server)));
  stage_ = Stage::connecting;
  received_.clear();
  socket_ = std::move(connecting.socket);
  if (connecting.error != 0) return on_closed(connecting.error);
  const auto watch = control_.watch(socket_.get(), EPOLLOUT, [this](std::uint32_t) { on_ready(); });
  if (!watch) return finish(watch.status());
  watch_ = *watch;
  attempt_ = control_.at(Deadline::after(monotonic_now(), attempt_ns_),
                         [this] { retry("it does not take the connection"); });
  attempt_ns_ = std::min(2 * attempt_ns_, last_attempt_ns);
}

void Connector::on_ready() {
  if (stage_ == Stage::connecting)
    on_connected();
  else
    on_bytes();
}

void Connector::on_connected() {
  control_.cancel(attempt_);
  if (const int error = connect_outcome(socket_.get()); error != 0) return on_closed(error);
  if (request_.same_user)
    if (auto status = check_same_user(socket_.get()); !status)
      return finish(status.within(request_.server));
  stage_ = Stage::challenge;
  control_.change(watch_, EPOLLIN);
}

void Connector::on_bytes() {
  if (stage_ == Stage::challenge) {
    if (receive(challenge_bytes)) on_challenge();
    return;
  }
  if (!receive(Welcome::prefix_bytes)) return;
  const auto bytes = welcome_bytes(std::span(received_).first(Welcome::prefix_bytes));
  if (!bytes) return retry("it answered with something that is not gyre's");
  if (receive(*bytes)) on_welcome();
}

void Connector::on_challenge() {
  const auto nonce = decode_challenge(received_);
  if (!nonce) return retry("what listens there is not gyre");
  server_nonce_ = *nonce;
  const auto hello = encode_hello(request_.secret, server_nonce_, request_.hello);
  if (!hello) return finish(hello.status());
  const ssize_t sent =
      ::send(socket_.get(), hello->data(), hello->size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(hello->size())) return on_closed(sent < 0 ? errno : EPIPE);
  received_.clear();
  stage_ = Stage::welcome;
}

void Connector::on_welcome() {
  const auto welcome =
      decode_welcome(request_.secret, server_nonce_, request_.hello.client_nonce, received_);
  if (!welcome)
    return finish(Status(Code::refused, fmt::format("what listens at {} does not know the secret "
                                                    "of the unique id; use the id that rank 0 "
                                                    "made for this job",
                                                    text_of(request_.address))));
  if (welcome->code != Code::ok)
    return finish(Status(welcome->code, fmt::format("{} refused this process: {}", request_.server,
                                                    welcome->refusal)));
  control_.unwatch(std::exchange(watch_, 0));
  finish(std::move(socket_));
}

/// Reads until `bytes` are there, never more; false while some are missing, or it has closed.
bool Connector::receive(std::size_t bytes) {
  while (received_.size() < bytes) {
    std::array<std::byte, Welcome::bytes_max> chunk;
    const ssize_t got = ::recv(socket_.get(), chunk.data(), bytes - received_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (got <= 0) {
      on_closed(got < 0 ? errno : 0);
      return false;
    }
    received_.insert(received_.end(), chunk.begin(), chunk.begin() + got);
  }
  return true;
}

void Connector::on_closed(int error) {
  if (!request_.retry_absent && error == ECONNREFUSED)
    return finish(
        Status(Code::unsupported, fmt::format("nobody listens at {}", text_of(request_.address))));
  const bool rejected = error == 0 && stage_ == Stage::welcome && received_.empty();
  if (rejected && ++rejections_ >= rejections_max)
    return finish(Status(
        Code::refused,
        fmt::format("{} at {} did not accept our proof of the secret and closed the connection; "
                    "use the unique id that it made for this very job",
                    request_.server, text_of(request_.address))));
  if (!rejected) rejections_ = 0;
  retry(error == 0 ? "it closed the connection" : words(error));
}

void Connector::retry(std::string why) {
  last_trouble_ = std::move(why);
  drop_socket();
  retry_ = control_.at(Deadline::after(monotonic_now(), pause_ns_), [this] { try_once(); });
  pause_ns_ = std::min(2 * pause_ns_, last_pause_ns);
}

void Connector::expire() {
  std::string why;
  if (socket_ && stage_ == Stage::welcome)
    why = "its process listens, but it has not created the communicator";
  else if (socket_ && stage_ == Stage::challenge)
    why = "the connection is accepted, but nothing answers: is the process stopped?";
  else
    why = fmt::format("last trouble: {}; is its process running, and reachable from here?",
                      last_trouble_.empty() ? "no answer" : last_trouble_);
  finish(Status(Code::timeout,
                fmt::format("{} at {} did not answer within {} ms: {}", request_.server,
                            text_of(request_.address), request_.hello.timeout_ms, why)));
}

void Connector::drop_socket() {
  control_.cancel(attempt_);
  if (watch_ != 0) control_.unwatch(std::exchange(watch_, 0));
  socket_.reset();
}

void Connector::finish(Result<UniqueFd> result) {
  control_.cancel(expiry_);
  control_.cancel(retry_);
  drop_socket();
  // The callback may destroy this, and with it what std::function holds.
  const OnDone on_done = std::move(on_done_);
  on_done(std::move(result));
}

}  // namespace gyre::transport
