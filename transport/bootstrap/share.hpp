// How the lowest rank of a host hands its memory to the others, and every rank learns in which
// process each of the others is. Over an abstract unix socket: reaching it proves to be on the same
// host.
//
// One member is served at a time, so that never more descriptors are under way than the kernel lets
// one user have (as many as it may have open).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "base/unique_fd.hpp"
#include "transport/bootstrap/acceptor.hpp"
#include "transport/bootstrap/connection.hpp"
#include "transport/bootstrap/connector.hpp"
#include "transport/bootstrap/messages.hpp"
#include "transport/bootstrap/peer_watch.hpp"

namespace gyre::transport {

/// What sharing gives to a rank.
struct Shared {
  UniqueFd memory;
  UniqueFd departures;
  Processes processes;
};

/// Which rank of which job shares what.
struct ShareTerms {
  UniqueId id;
  int rank = 0;
  int size = 1;
  std::size_t bytes = 0;
};

/// May not destroy its caller.
using OnShared = std::function<void(Result<Shared>)>;

/// The giving side. Control thread only.
class ShareGiver {
 public:
  ShareGiver(ControlThread& control, const ShareTerms& terms);
  ~ShareGiver();
  ShareGiver(const ShareGiver&) = delete;
  ShareGiver& operator=(const ShareGiver&) = delete;

  /// Takes a duplicate of `memfd` after checking it, and begins to listen under the name returned.
  Result<AbstractName> open(int memfd);
  /// Serves all members; `on_shared` is called when every one has confirmed.
  void give(OnShared on_shared);
  /// Those who have not confirmed yet: "ranks 1, 3".
  std::string names_of_missing() const;

 private:
  struct Member {
    std::shared_ptr<Connection> connection;
    UniqueFd pidfd;
    ProcessToken token = {};
    bool introduced = false;
    bool confirmed = false;
  };

  void on_client(Client client);
  bool on_message(int rank, std::span<const std::byte> message);
  void introduce(int rank, const ProcessToken& token, UniqueFd pidfd);
  void serve_next();
  void serve(Member& member, int rank);
  Processes processes();
  void finish();

  ControlThread& control_;
  const ShareTerms terms_;
  Shared shared_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<Member> members_;
  std::vector<int> first_;
  OnShared on_shared_;
};

/// The taking side. Control thread only.
class ShareTaker {
 public:
  ShareTaker(ControlThread& control, const ShareTerms& terms, OnShared on_shared);
  ~ShareTaker();
  ShareTaker(const ShareTaker&) = delete;
  ShareTaker& operator=(const ShareTaker&) = delete;

  void take(const AbstractName& giver, Deadline deadline);

 private:
  void on_connected(Result<UniqueFd> socket);
  bool on_message(std::span<const std::byte> message);
  bool on_memory(std::span<const std::byte> message);
  bool on_lifeline(std::span<const std::byte> message);
  void finish(Result<Shared> result);

  ControlThread& control_;
  const ShareTerms terms_;
  OnShared on_shared_;
  std::unique_ptr<Connector> connector_;
  std::shared_ptr<Connection> connection_;
  Shared shared_;
  bool done_ = false;
};

}  // namespace gyre::transport
