// The control plane of one communicator: all its ranks, joined and authenticated, connected in a
// star through rank 0. It exchanges small records, passes the host's shared memory, and notices and
// names a rank that fails. No tensor ever travels here.
//
// Who notices a death: rank 0 by the rank's control connection, and every rank of the host by the
// process's pidfd (after share()), so a dead rank 0 is named too. Rank 0 relays to all. A rank that
// goes in order says goodbye first, also into a page that the host's ranks share, because its
// process may be gone before rank 0 has relayed the word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "base/unique_fd.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/listener.hpp"
#include "transport/bootstrap/unique_id.hpp"
#include "transport/endpoint.hpp"

namespace gyre::transport {

/// A Failure and the words for it; at most text_bytes_max of them travel.
struct GroupFailure {
  static constexpr std::size_t text_bytes_max = 512;

  Failure what;
  std::string text;

  Status status() const { return Status(what.code, text, what.rank); }
};

class GroupState;

/// Calls come from one thread at a time, except report(), which any thread may call while the group
/// exists. A group has failed once, for the first
/// reason: from then on every call returns that reason.
class Group {
 public:
  static constexpr std::size_t record_bytes_max = 4096;

  struct Request {
    UniqueId id;
    int rank = 0;
    int size = 1;
    Deadline deadline;
    /// Rank 0 only: the listener that made `id`. Closed when all have joined, or on failure.
    std::unique_ptr<Listener> listener;
  };

  /// Blocks until all ranks have joined. Ranks may start in any order and may be threads that share
  /// a ControlThread. timeout: names the missing ranks, on every rank that did join (up to a
  /// second after the deadline). refused: the secret is wrong, or the rank is taken, or out of
  /// range, or sizes or versions differ. peer_failed: a rank died meanwhile.
  static Result<std::unique_ptr<Group>> join(ControlThread& control, Request request);

  /// Without goodbye() before it, the others take this for a failure. When it returns, no callback
  /// is running or will run. Waits for no peer.
  ~Group();

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Every rank's record, in rank order; at most record_bytes_max each. All ranks call it, in the
  /// same order with share().
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> record,
                                                         Deadline deadline);

  /// Gives every rank of the host the shared memory of the host's lowest rank, and every rank the
  /// means to notice the death of every other. In this version all ranks must be on one host, so
  /// rank 0 is the one that gives. Once per group.
  ///
  /// `memfd` is borrowed: rank 0's memory, sealed with F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  /// -1 on the others. All ranks pass the `bytes` that it has; a receiver checks size and
  /// seals. Returns a descriptor of that memory (on rank 0 a duplicate). unsupported: a rank
  /// could not reach rank 0's socket, so it is on another host, or in another network namespace.
  Result<UniqueFd> share(int memfd, std::size_t bytes, Deadline deadline);

  using OnFailure = std::function<void(const GroupFailure&)>;
  using OnDeparted = std::function<void(int rank)>;
  /// From now on: `on_failure` is called at most once, on the control thread, for the group's
  /// first failure (also one that came before this call, then during it), and `on_departed` for
  /// each rank that has left in order. Neither may block, nor take a lock that is held while this
  /// group is called or destroyed.
  void watch(OnFailure on_failure, OnDeparted on_departed);

  /// Makes this rank's failure (or abort) the group's, on all ranks. Any thread; waits for nobody.
  /// This rank's own on_failure is called as well.
  void report(GroupFailure failure);

  /// This rank leaves in order: the end of its connection or process is no failure any more.
  /// Waits for nobody. Only the destructor may follow.
  void goodbye();

 private:
  Group(ControlThread& control, int rank, int size);

  ControlThread& control_;
  const int rank_;
  const int size_;
  std::unique_ptr<GroupState> state_;  // lives on the control thread
};

}  // namespace gyre::transport
