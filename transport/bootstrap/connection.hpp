// An authenticated connection: whole messages in both directions, with descriptors where it is a
// unix socket. Lives on the control thread and never blocks.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "base/unique_fd.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/messages.hpp"

namespace gyre::transport {

/// Bytes that may wait in several connections at once.
using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

/// Control thread only. Held by shared_ptr, because a handler may let go of the connection that
/// calls it. After close() no handler is called.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static constexpr std::size_t descriptors_max = 8;  ///< received and not yet claimed

  struct Handlers {
    /// One whole message. False says that it makes no sense: the connection is then closed and
    /// on_closed called.
    std::function<bool(std::span<const std::byte> message)> on_message;
    /// The other end has closed, broken a rule, or reads nothing while too much waits for it.
    std::function<void(const Status& why)> on_closed;
  };

  /// `waiting_max`: how many sends may wait for a slow reader.
  static Result<std::shared_ptr<Connection>> open(ControlThread& control, UniqueFd socket,
                                                  Handlers handlers, std::size_t waiting_max);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends whole framed messages (messages.hpp), with at most descriptors_max borrowed descriptors,
  /// duplicated if they must wait. Trouble is reported by on_closed, later.
  void send(SharedBytes framed, std::span<const int> descriptors = {});
  void send(std::vector<std::byte> framed, std::span<const int> descriptors = {});
  void close();
  bool is_open() const { return static_cast<bool>(socket_); }

  /// In on_message: the oldest descriptor that came with this or an earlier message; empty: none.
  UniqueFd claim_descriptor();

 private:
  struct Waiting {
    SharedBytes bytes;
    std::size_t sent = 0;
    std::vector<UniqueFd> descriptors;
  };

  Connection(ControlThread& control, UniqueFd socket, Handlers handlers, std::size_t waiting_max);
  void on_ready(std::uint32_t events);
  void read_some();
  bool take_descriptors(msghdr& header);
  bool deliver();
  void write_some();
  ssize_t write_once(std::span<const std::byte> bytes, std::span<const int> descriptors);
  void fail(Status why);
  void fail_soon();

  ControlThread& control_;
  UniqueFd socket_;
  const Handlers handlers_;
  const std::size_t waiting_max_;
  ControlThread::WatchId watch_ = 0;
  bool wants_to_write_ = false;
  std::vector<std::byte> received_;
  std::deque<UniqueFd> descriptors_;
  std::deque<Waiting> waiting_;
};

}  // namespace gyre::transport
