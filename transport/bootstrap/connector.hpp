// The other side of the door: connects, proves the secret, checks the server's proof, and tries
// again until its deadline when the server is not there yet or has too many strangers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "base/unique_fd.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/handshake.hpp"
#include "transport/bootstrap/socket.hpp"

namespace gyre::transport {

/// Control thread only.
class Connector {
 public:
  struct Request {
    SocketAddress address;
    Secret secret = {};
    Hello hello;  ///< the connector fills in the nonce
    Deadline deadline;
    std::string server;        ///< for messages: "rank 0"
    bool same_user = false;    ///< unix sockets
    bool retry_absent = true;  ///< whether nobody listening may change
  };
  /// A welcomed connection, or why there is none. May destroy the connector.
  using OnDone = std::function<void(Result<UniqueFd>)>;

  /// Does nothing before start().
  Connector(ControlThread& control, Request request, OnDone on_done);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  void start();

 private:
  enum class Stage { connecting, challenge, welcome };

  void try_once();
  void on_ready();
  void on_connected();
  void on_bytes();
  void on_challenge();
  void on_welcome();
  bool receive(std::size_t bytes);
  void on_closed(int error);
  void retry(std::string why);
  void expire();
  void drop_socket();
  void finish(Result<UniqueFd> result);

  ControlThread& control_;
  Request request_;
  OnDone on_done_;
  ControlThread::Timer expiry_;
  ControlThread::Timer retry_;
  ControlThread::Timer attempt_;

  Stage stage_ = Stage::connecting;
  UniqueFd socket_;
  ControlThread::WatchId watch_ = 0;
  Nonce server_nonce_ = {};
  std::vector<std::byte> received_;

  Nanoseconds pause_ns_;
  Nanoseconds attempt_ns_;
  int rejections_ = 0;
  std::string last_trouble_;
};

}  // namespace gyre::transport
