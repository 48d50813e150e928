// How the ranks of one host notice each other's end without anybody's help: a pidfd of each
// process, and a shared page where a rank notes that it leaves in order before its process may end.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "base/unique_fd.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/sealed_memory.hpp"

namespace gyre::transport {

/// One byte per rank, written once by that rank, in memory that all ranks of the host have mapped.
class DeparturePage {
 public:
  static Result<UniqueFd> make(int size);
  static Result<DeparturePage> map(int fd, int size);

  void note(int rank);
  bool has_left(int rank) const;

 private:
  SharedMapping mapping_;
};

/// What a rank knows about the processes of its host.
struct Processes {
  /// For each rank the lowest rank in the same process.
  std::vector<int> first;
  /// For the first rank of every process but our own: its pidfd. Empty for the other ranks.
  std::vector<UniqueFd> pidfds;
};

/// Control thread only.
class PeerWatch {
 public:
  /// `in_order`: the rank had noted that it leaves. Called once for each rank of a process that has
  /// ended. May not destroy the watch.
  using OnEnded = std::function<void(int rank, bool in_order)>;

  static Result<std::unique_ptr<PeerWatch>> start(ControlThread& control, DeparturePage page,
                                                  Processes processes, OnEnded on_ended);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// Notes that `rank`, which is ours, leaves in order.
  void note_departure(int rank) { page_.note(rank); }

 private:
  PeerWatch(ControlThread& control, DeparturePage page, Processes processes, OnEnded on_ended);
  void on_end_of_process(int first);

  ControlThread& control_;
  DeparturePage page_;
  Processes processes_;
  const OnEnded on_ended_;
  std::vector<ControlThread::WatchId> watches_;  // by first rank; 0: none
};

/// A pidfd of this process, to give to others.
Result<UniqueFd> own_pidfd();

}  // namespace gyre::transport
