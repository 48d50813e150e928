#include "transport/bootstrap/connection.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/codec.hpp"

namespace gyre::transport {
namespace {

constexpr int reads_per_turn_max = 16;
constexpr std::size_t chunk_bytes = 4096;

int duplicate(int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); }

Status closed(std::string_view why) { return Status(Code::peer_failed, std::string(why)); }

}  // namespace

Connection::Connection(ControlThread& control, UniqueFd socket, Handlers handlers,
                       std::size_t waiting_max)
    : control_(control),
      socket_(std::move(socket)),
      handlers_(std::move(handlers)),
      waiting_max_(waiting_max) {}

Result<std::shared_ptr<Connection>> Connection::open(ControlThread& control, UniqueFd socket,
                                                     Handlers handlers, std::size_t waiting_max) {
  std::shared_ptr<Connection> connection(
      new Connection(control, std::move(socket), std::move(handlers), waiting_max));
  const auto watch =
      control.watch(connection->socket_.get(), EPOLLIN,
                    [raw = connection.get()](std::uint32_t events) { raw->on_ready(events); });
  if (!watch) return watch.status();
  connection->watch_ = *watch;
  return connection;
}

Connection::~Connection() { close(); }

void Connection::close() {
  if (watch_ != 0) control_.unwatch(std::exchange(watch_, 0));
  socket_.reset();
  waiting_.clear();
  descriptors_.clear();
}

void Connection::fail(Status why) {
  if (!is_open()) return;
  const auto self = shared_from_this();
  close();
  handlers_.on_closed(why);
}

void Connection::on_ready(std::uint32_t events) {
  const auto self = shared_from_this();
  if (events & EPOLLOUT) write_some();
  if (is_open() && events & ~std::uint32_t{EPOLLOUT}) read_some();
}

void Connection::read_some() {
  for (int i = 0; i < reads_per_turn_max && is_open(); ++i) {
    std::array<std::byte, chunk_bytes> chunk;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * descriptors_max)> control;
    iovec into = {chunk.data(), chunk.size()};
    msghdr header = {};
    header.msg_iov = &into;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) return fail(system_error("recvmsg", errno));
    if (!take_descriptors(header)) return fail(closed("it sent more descriptors than agreed"));
    if (got == 0) return fail(closed("it closed the connection"));
    received_.insert(received_.end(), chunk.begin(), chunk.begin() + got);
    if (!deliver()) return fail(closed("it sent a message that makes no sense here"));
  }
}

bool Connection::take_descriptors(msghdr& header) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      descriptors_.emplace_back(fd);
    }
  }
  return descriptors_.size() <= descriptors_max && !(header.msg_flags & MSG_CTRUNC);
}

bool Connection::deliver() {
  std::size_t used = 0;
  bool sane = true;
  while (sane && is_open() && received_.size() - used >= frame_prefix_bytes) {
    const auto rest = std::span<const std::byte>(received_).subspan(used);
    Reader prefix(rest.first(frame_prefix_bytes));
    const std::size_t bytes = prefix.u32();
    if (bytes == 0 || bytes > frame_bytes_max - frame_prefix_bytes) return false;
    if (rest.size() - frame_prefix_bytes < bytes) break;
    used += frame_prefix_bytes + bytes;
    sane = handlers_.on_message(rest.subspan(frame_prefix_bytes, bytes));
  }
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(used));
  return sane;
}

UniqueFd Connection::claim_descriptor() {
  if (descriptors_.empty()) return {};
  UniqueFd first = std::move(descriptors_.front());
  descriptors_.pop_front();
  return first;
}

void Connection::send(std::vector<std::byte> framed, std::span<const int> descriptors) {
  send(std::make_shared<const std::vector<std::byte>>(std::move(framed)), descriptors);
}

void Connection::send(SharedBytes framed, std::span<const int> descriptors) {
  if (!is_open()) return;
  std::size_t sent = 0;
  if (waiting_.empty()) {
    // At once where possible, so that what is sent just before close() still goes. Trouble surfaces
    // on the thread's next turn, because the caller may be in the midst of changing its state.
    const ssize_t now = write_once(*framed, descriptors);
    if (now == static_cast<ssize_t>(framed->size())) return;
    if (now > 0) sent = static_cast<std::size_t>(now);
  }
  Waiting waiting{std::move(framed), sent, {}};
  if (sent == 0)
    for (const int fd : descriptors) waiting.descriptors.emplace_back(duplicate(fd));
  const bool whole = std::ranges::all_of(waiting.descriptors, [](const auto& fd) { return !!fd; });
  waiting_.push_back(std::move(waiting));
  if (!whole || waiting_.size() > waiting_max_) return fail_soon();
  if (std::exchange(wants_to_write_, true)) return;
  control_.change(watch_, EPOLLIN | EPOLLOUT);
}

void Connection::fail_soon() {
  control_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock())
      self->fail(closed("it reads too slowly for what waits for it, or descriptors are used up"));
  });
}

void Connection::write_some() {
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    std::vector<int> descriptors;
    for (const UniqueFd& fd : first.descriptors) descriptors.push_back(fd.get());
    const ssize_t sent = write_once(std::span(*first.bytes).subspan(first.sent), descriptors);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) return fail(system_error("sendmsg", errno));
    first.descriptors.clear();
    first.sent += static_cast<std::size_t>(sent);
    if (first.sent == first.bytes->size()) waiting_.pop_front();
  }
  wants_to_write_ = false;
  control_.change(watch_, EPOLLIN);
}

ssize_t Connection::write_once(std::span<const std::byte> bytes, std::span<const int> descriptors) {
  iovec from = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * descriptors_max)> control = {};
  msghdr header = {};
  header.msg_iov = &from;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  return ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace gyre::transport
