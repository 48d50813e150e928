#include "transport/bootstrap/listener.hpp"

#include <cstring>
#include <utility>

#include "base/hmac.hpp"
#include "base/types.hpp"
#include "transport/bootstrap/acceptor.hpp"
#include "transport/bootstrap/interface.hpp"
#include "transport/bootstrap/socket.hpp"

namespace gyre::transport {
namespace {

Result<UniqueId> fresh_id() {
  UniqueId id;
  std::array<std::byte, sizeof id.job_nonce> nonce;
  if (auto status = fill_random(nonce); !status) return status;
  if (auto status = fill_random(id.secret); !status) return status;
  std::memcpy(&id.job_nonce, nonce.data(), sizeof id.job_nonce);
  return id;
}

}  // namespace

Listener::Listener(ControlThread& control, const UniqueId& id) : control_(control), id_(id) {}

Result<std::unique_ptr<Listener>> Listener::open(ControlThread& control, std::string_view pattern) {
  const auto interfaces = list_interfaces();
  if (!interfaces) return interfaces.status();
  const auto chosen = choose_interface(*interfaces, pattern);
  if (!chosen) return chosen.status();
  auto id = fresh_id();
  if (!id) return id.status();
  id->address = chosen->address;
  auto socket = listen_on(id->address);
  if (!socket) return socket.status();

  std::unique_ptr<Listener> listener(new Listener(control, *id));
  Status status = Status(Code::internal, "this context is of a process that has forked");
  control.run([&] {
    Acceptor::Options options;
    options.secret = id->secret;
    options.purpose = Purpose::join;
    listener->acceptor_ = std::make_unique<Acceptor>(
        control, std::move(*socket), options,
        [raw = listener.get()](Client client) { raw->admit(std::move(client)); });
    status = listener->acceptor_->start();
  });
  if (!status) return status;
  return listener;
}

Listener::~Listener() {
  control_.run([this] { acceptor_.reset(); });
}

void Listener::admit(Client client) {
  if (on_client_)
    on_client_(std::move(client));
  else if (early_.size() < static_cast<std::size_t>(ranks_max))
    early_.push_back(std::move(client));
}

void Listener::claim(std::function<void(Client)> on_client) {
  on_client_ = std::move(on_client);
  // One that has given up meanwhile may have come again: it must not stand for its rank.
  for (Client& client : std::exchange(early_, {}))
    if (!has_closed(client.socket.get())) on_client_(std::move(client));
}

}  // namespace gyre::transport
