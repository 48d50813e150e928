// Where the ranks of one communicator meet: made in the process of rank 0 together with the unique
// id, and handed to rank 0's Group::join. From the start it accepts and authenticates on the
// control thread, so ranks may come before rank 0 itself has joined.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/unique_id.hpp"

namespace gyre::transport {

class Acceptor;
struct Client;

/// Any thread, one at a time. Must not outlive its ControlThread.
class Listener {
 public:
  /// Binds to one address of the interface that `pattern` selects ("lo", see interface.hpp) with a
  /// port of the kernel's choice, and makes a fresh id. Never the wildcard address.
  static Result<std::unique_ptr<Listener>> open(ControlThread& control, std::string_view pattern);
  ~Listener();

  const UniqueId& id() const { return id_; }

  /// Control thread: hands over the authenticated clients that have come and, from then on, each
  /// that comes.
  void claim(std::function<void(Client)> on_client);

 private:
  Listener(ControlThread& control, const UniqueId& id);
  void admit(Client client);

  ControlThread& control_;
  UniqueId id_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<Client> early_;  // at most ranks_max; later ones are closed
  std::function<void(Client)> on_client_;
};

}  // namespace gyre::transport
