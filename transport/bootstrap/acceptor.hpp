// The door: accepts connections on one listening socket and lets through who proves the secret. A
// stranger costs one descriptor and 300 bytes for at most two seconds, in a table of bounded size
// whose oldest entry makes room; no stranger delays a client or learns anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "base/unique_fd.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/handshake.hpp"
#include "transport/bootstrap/unique_id.hpp"

namespace gyre::transport {

/// A connection whose other end has proved the secret and speaks our protocol, and waits for a
/// welcome.
struct Client {
  UniqueFd socket;
  Hello hello;
  Nonce server_nonce = {};
};

/// Answers `client`'s hello; false when it can't be sent because the client has gone.
bool send_welcome(const Client& client, const Secret& secret, const Welcome& welcome);

/// Control thread only.
class Acceptor {
 public:
  static constexpr std::size_t strangers_max = 64;
  static constexpr Nanoseconds budget_ns = 2'000 * nanoseconds_per_ms;

  struct Options {
    Secret secret = {};
    Purpose purpose = Purpose::join;
    bool same_user = false;  ///< unix sockets: look at the peer's credentials first
  };
  using OnClient = std::function<void(Client)>;

  Acceptor(ControlThread& control, UniqueFd listening, const Options& options, OnClient on_client);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Begins to accept. `on_client` may destroy nothing of this.
  Status start();

 private:
  using Number = std::uint64_t;  // in order of arrival
  struct Stranger {
    UniqueFd socket;
    ControlThread::WatchId watch = 0;
    ControlThread::Timer expiry;
    Nonce server_nonce = {};
    std::array<std::byte, Hello::bytes_max> received = {};
    std::size_t received_bytes = 0;
  };
  enum class Parting { quiet, reset };

  void accept_some();
  void pause();
  void admit(UniqueFd socket);
  void read_from(Number number);
  bool receive(Stranger& stranger, std::size_t bytes) const;
  void judge(Number number);
  bool speaks_our_language(const Client& client) const;
  void dismiss(Number number, Parting parting);

  ControlThread& control_;
  UniqueFd listening_;
  const Options options_;
  const OnClient on_client_;
  ControlThread::WatchId watch_ = 0;
  ControlThread::Timer resume_;
  std::map<Number, Stranger> strangers_;
  Number next_number_ = 1;
};

}  // namespace gyre::transport
