// The shared-memory endpoint: one rank's end of everything that a Segment holds.
//
// Nothing on the data path blocks, locks, allocates or makes a system call, except to wake a rank
// that sleeps. What peers wrote is bounded before it is used; a value that no correct peer stores
// fails the communicator with Code::internal and that peer's rank.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "transport/endpoint.hpp"
#include "transport/memory_importer.hpp"
#include "transport/shm/announcements.hpp"
#include "transport/shm/doorbells.hpp"
#include "transport/shm/failure_record.hpp"
#include "transport/shm/links.hpp"
#include "transport/shm/segment.hpp"

namespace gyre::transport::shm {

class ShmEndpoint final : public Endpoint, private Breach {
 public:
  /// `rank` is the place in the segment, 0 <= rank < its ranks; one endpoint for each, once in the
  /// segment's life, because counters are never reset. `importer` is borrowed; nullptr where peers'
  /// memory can't be mapped.
  static Result<std::unique_ptr<ShmEndpoint>> create(std::shared_ptr<Segment> segment, int rank,
                                                     MemoryImporter* importer);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  LinkKind kind() const override { return LinkKind::memory; }
  SlotShape shape() const override { return segment_->layout().pair; }
  bool maps_memory() const override { return importer_ != nullptr; }

  /// `peer` is in [0, size()); the link to oneself is never used.
  SendLink& to(int peer) override { return send_[static_cast<std::size_t>(peer)]; }
  RecvLink& from(int peer) override { return recv_[static_cast<std::size_t>(peer)]; }
  SendLink& to_all() override { return cast_send_; }
  RecvLink& cast_from(int peer) override { return cast_recv_[static_cast<std::size_t>(peer)]; }

  bool announce(std::uint64_t sequence, const Announcement& announcement,
                std::size_t payload_bytes) override;
  bool announced(int peer, std::uint64_t sequence, Announcement& announcement,
                 std::size_t payload_bytes) override;
  std::uint64_t last_announced(int peer) const override { return announcements_.last(peer); }

  void leave(std::uint64_t sequence) override;
  bool has_left(int peer, std::uint64_t sequence) override;

  void note(std::uint64_t standing) override {
    notes_[static_cast<std::size_t>(rank_)].value.store(standing, std::memory_order_relaxed);
  }
  std::uint64_t noted(int peer) const override {
    return notes_[static_cast<std::size_t>(peer)].value.load(std::memory_order_relaxed);
  }

  Mapping map(int peer, const MappedRef& ref, std::size_t bytes) override;
  bool pump() override { return false; }

  bool aborted() const override { return record_.failed(); }
  Failure failure() const override { return record_.get(); }
  void abort(const Failure& failure) override;

  void prepare_sleep() override { doorbells_.prepare(); }
  void sleep(std::int64_t timeout_ns) override { doorbells_.sleep(timeout_ns); }
  void cancel_sleep() override { doorbells_.cancel(); }
  void wake() override { doorbells_.ring(rank_); }

  /// Says that this rank is done with the communicator and leaves in order; rings everyone. Whoever
  /// watches processes uses it to tell an orderly end from a death.
  void depart();
  /// Any thread.
  bool has_departed(int peer) const override { return segment_->departed(peer).get() != 0; }

 private:
  ShmEndpoint(std::shared_ptr<Segment> segment, int rank, MemoryImporter* importer);

  void corrupt(int peer) override;

  std::shared_ptr<Segment> segment_;
  int rank_;
  int size_;
  MemoryImporter* importer_;
  Doorbells<HostMemory> doorbells_;
  Announcements<HostMemory> announcements_;
  FailureRecord<HostMemory> record_;
  std::span<Note<HostMemory>> notes_;
  std::mutex abort_mutex_;           ///< one thread of this rank at a time writes its details
  std::vector<std::uint64_t> left_;  ///< what each peer is known to have left
  std::vector<ShmSendLink> send_;
  std::vector<ShmRecvLink> recv_;
  std::vector<ShmRecvLink> cast_recv_;
  ShmSendLink cast_send_;
};

}  // namespace gyre::transport::shm
