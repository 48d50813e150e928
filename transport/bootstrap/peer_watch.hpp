// How the ranks of one host notice each other's end without anybody's help: a pidfd of each
// process, and a shared page where a rank notes, before its process may end, why it will: that it
// leaves in order, or which rank's failure it has heard of.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "base/unique_fd.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/sealed_memory.hpp"

namespace gyre::transport {

/// What a rank had noted when its process ended.
struct LastNote {
  bool in_order = false;
  /// The rank whose failure it had heard of: the survivors of a failure end too, and the first of
  /// them may be seen to end before the rank that failed.
  int failed = Status::no_rank;
};

/// One word per rank, written only by that rank, in memory that all ranks of the host have mapped.
class DeparturePage {
 public:
  static Result<UniqueFd> make(int size);
  static Result<DeparturePage> map(int fd, int size);

  void note_departure(int rank);
  void note_failure(int rank, int failed);
  LastNote last_note(int rank) const;

 private:
  SharedMapping mapping_;
  int size_ = 0;
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
  /// Called once for each rank of a process that has ended. May not destroy the watch.
  using OnEnded = std::function<void(int rank, LastNote note)>;

  static Result<std::unique_ptr<PeerWatch>> start(ControlThread& control, DeparturePage page,
                                                  Processes processes, OnEnded on_ended);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// Notes that `rank`, which is ours, leaves in order.
  void note_departure(int rank) { page_.note_departure(rank); }
  /// Notes that `rank`, which is ours, has heard of the failure of `failed`.
  void note_failure(int rank, int failed) { page_.note_failure(rank, failed); }

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
