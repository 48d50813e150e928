// The sockets of the control plane: TCP on one address, and abstract unix sockets, whose names live
// in the network namespace and not in any file system. All are non-blocking and close-on-exec.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <variant>

#include "base/status.hpp"
#include "base/unique_fd.hpp"
#include "transport/bootstrap/unique_id.hpp"

namespace gyre::transport {

/// Random bytes; the socket is called "gyre-" and their hexadecimal digits.
using AbstractName = std::array<std::byte, 16>;

/// Where something listens.
using SocketAddress = std::variant<InternetAddress, AbstractName>;
std::string text_of(const SocketAddress& address);

/// Listens on exactly `address`; a port 0 is replaced by the one that the kernel chose.
Result<UniqueFd> listen_on(InternetAddress& address);
/// Listens under a fresh random name, which is put into `name`.
Result<UniqueFd> listen_on_fresh_name(AbstractName& name);

/// The next connection, or an empty descriptor when there is none now. system: descriptors are used
/// up, or the like.
Result<UniqueFd> accept_from(int listening);

/// Begins to connect: the outcome is connect_outcome() when the socket is ready for EPOLLOUT.
/// `error` is 0, or the errno with which it failed at once.
struct Connecting {
  UniqueFd socket;
  int error = 0;
};
Connecting connect_to(const SocketAddress& address);
/// 0, or the errno with which connecting failed.
int connect_outcome(int socket);

/// Whether the other end has closed, with nothing left to read.
bool has_closed(int socket);

/// refused unless the process at the other end of a unix socket has our user id.
Status check_same_user(int socket);

}  // namespace gyre::transport
