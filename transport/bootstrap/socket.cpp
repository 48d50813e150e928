#include "transport/bootstrap/socket.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/hmac.hpp"

namespace gyre::transport {
namespace {

/// As many as the kernel allows (net.core.somaxconn cuts it): all ranks may come at once.
constexpr int backlog = 4096;

/// A socket address of either kind in the kernel's form.
struct KernelAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

template <typename T>
KernelAddress packed(const T& address, std::size_t length) {
  KernelAddress kernel;
  std::memcpy(&kernel.storage, &address, length);
  kernel.length = static_cast<socklen_t>(length);
  return kernel;
}

KernelAddress kernel_address(const InternetAddress& address) {
  if (address.family == InternetAddress::Family::v6) {
    sockaddr_in6 v6 = {};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    v6.sin6_scope_id = address.scope;
    std::memcpy(&v6.sin6_addr, address.address.data(), sizeof v6.sin6_addr);
    return packed(v6, sizeof v6);
  }
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(address.port);
  std::memcpy(&v4.sin_addr, address.address.data(), sizeof v4.sin_addr);
  return packed(v4, sizeof v4);
}

std::string text_of_name(const AbstractName& name) {
  std::string text = "gyre-";
  for (const std::byte byte : name) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

KernelAddress kernel_address(const AbstractName& name) {
  const std::string text = text_of_name(name);
  sockaddr_un local = {};
  local.sun_family = AF_UNIX;
  // A first byte of zero makes it abstract; the length says where the name ends.
  std::memcpy(local.sun_path + 1, text.data(), text.size());
  return packed(local, offsetof(sockaddr_un, sun_path) + 1 + text.size());
}

UniqueFd open_socket(int family) {
  return UniqueFd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Messages are small and answered: waiting to fill a packet only costs time.
void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Status listen_failed(std::string_view call, const SocketAddress& address, int error) {
  return system_error(fmt::format("{} for {}", call, text_of(address)), error);
}

}  // namespace

std::string text_of(const SocketAddress& address) {
  if (const auto* internet = std::get_if<InternetAddress>(&address)) return text_of(*internet);
  // Whoever may know the name may connect, but still needs the secret.
  return fmt::format("@{}", text_of_name(std::get<AbstractName>(address)));
}

Result<UniqueFd> listen_on(InternetAddress& address) {
  KernelAddress kernel = kernel_address(address);
  UniqueFd socket = open_socket(kernel.family());
  if (!socket) return listen_failed("socket", address, errno);
  if (::bind(socket.get(), kernel.get(), kernel.length) != 0)
    return listen_failed("bind", address, errno);
  if (::listen(socket.get(), backlog) != 0) return listen_failed("listen", address, errno);
  if (::getsockname(socket.get(), kernel.get(), &kernel.length) != 0)
    return listen_failed("getsockname", address, errno);
  // sin_port and sin6_port lie at the same place.
  sockaddr_in bound;
  std::memcpy(&bound, &kernel.storage, sizeof bound);
  address.port = ntohs(bound.sin_port);
  return socket;
}

Result<UniqueFd> listen_on_fresh_name(AbstractName& name) {
  if (auto status = fill_random(name); !status) return status;
  const KernelAddress kernel = kernel_address(name);
  UniqueFd socket = open_socket(AF_UNIX);
  if (!socket) return listen_failed("socket", name, errno);
  if (::bind(socket.get(), kernel.get(), kernel.length) != 0)
    return listen_failed("bind", name, errno);
  if (::listen(socket.get(), backlog) != 0) return listen_failed("listen", name, errno);
  return socket;
}

Result<UniqueFd> accept_from(int listening) {
  UniqueFd socket(::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) {
    send_at_once(socket.get());
    return socket;
  }
  switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return system_error("accept4", errno);
    default: return UniqueFd();  // nobody there, or somebody who has gone again
  }
}

Connecting connect_to(const SocketAddress& address) {
  const KernelAddress kernel =
      std::visit([](const auto& which) { return kernel_address(which); }, address);
  Connecting connecting;
  connecting.socket = open_socket(kernel.family());
  if (!connecting.socket) {
    connecting.error = errno;
    return connecting;
  }
  send_at_once(connecting.socket.get());
  if (::connect(connecting.socket.get(), kernel.get(), kernel.length) != 0 && errno != EINPROGRESS)
    connecting.error = errno;
  return connecting;
}

int connect_outcome(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

bool has_closed(int socket) {
  std::byte next;
  const ssize_t got = ::recv(socket, &next, sizeof next, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

Status check_same_user(int socket) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return system_error("getsockopt SO_PEERCRED", errno);
  if (peer.uid == ::geteuid()) return {};
  return Status(Code::refused,
                fmt::format("the process at the other end belongs to user {}, this one to user {}; "
                            "run all ranks of a job as one user",
                            peer.uid, ::geteuid()));
}

}  // namespace gyre::transport
