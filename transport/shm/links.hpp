// The links of a shared-memory endpoint: slots in the mapping, counters beside them, and a ring of
// the other side's doorbell where it sleeps.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/link.hpp"
#include "transport/shm/doorbells.hpp"
#include "transport/shm/failure_record.hpp"
#include "transport/shm/slot_queue.hpp"

namespace gyre::transport::shm {

/// Whoever can end the communicator when a peer breaks the protocol.
class Breach {
 public:
  virtual ~Breach() = default;
  virtual void corrupt(int peer) = 0;
};

/// The memory of a link's slots. A message that leaves much of its slot empty takes another part of
/// it on every lap, so that a line is stored to again only after all of the link's memory was: by
/// then its readers' caches have evicted it, and a line that no other core holds is had sooner.
template <class Byte>
class SlotMemory {
 public:
  /// Smaller messages stay where they are: the few lines that they use are better kept near.
  static constexpr std::size_t moving_bytes_min = 2048;

  SlotMemory(Byte* first, std::size_t slot_bytes) : first_(first), slot_bytes_(slot_bytes) {}

  /// Where a message of `bytes` <= slot_bytes begins that is the slot's on this lap of `queue`.
  template <class Queue>
  Byte* place_of(const Queue& queue, std::size_t bytes) const {
    Byte* const slot = first_ + queue.index() * slot_bytes_;
    if (bytes < moving_bytes_min || 2 * bytes > slot_bytes_) return slot;
    const int room = std::bit_width(bytes - 1);  // of 2^room bytes; at least one fits
    const std::size_t rooms = std::bit_floor(slot_bytes_ >> room);
    return slot + ((queue.lap() & (rooms - 1)) << room);
  }

 private:
  Byte* first_;
  std::size_t slot_bytes_;
};

/// To one peer, or to all of them through one set of slots.
class ShmSendLink final : public SendLink {
 public:
  static constexpr int everyone = -1;
  /// Of the next slot, fetched early.
  static constexpr std::size_t expected_bytes_max = 4096;

  /// `slots` is where slot 0 begins; `peer` may be `everyone`.
  ShmSendLink(SlotSender<HostMemory> queue, std::byte* slots, std::size_t slot_bytes, int peer,
              Doorbells<HostMemory>& doorbells, Breach& breach)
      : queue_(queue),
        slots_(slots, slot_bytes),
        peer_(peer),
        doorbells_(&doorbells),
        breach_(&breach) {}

  std::span<std::byte* const> reserve(std::size_t bytes) override {
    if (const Look look = queue_.look(); look != Look::ready) [[unlikely]]
      return no_credit(look);
    place_ = slots_.place_of(queue_, bytes);
    return {&place_, 1};
  }

  void publish(std::size_t bytes) override {
    queue_.publish();
    bytes_sent_ += bytes;
    if (peer_ == everyone)
      doorbells_->kick_all();
    else
      doorbells_->kick(peer_);
  }

  void publish_announced(std::size_t bytes) override {
    queue_.publish_announced();
    bytes_sent_ += bytes;
    // The next message will be much like this one.
    HostMemory::expect_stores(slots_.place_of(queue_, bytes), std::min(bytes, expected_bytes_max));
  }

  bool post(const std::byte*, std::size_t) override { return false; }
  std::uint64_t posted() const override { return queue_.posted(); }
  std::uint64_t released() const override { return queue_.posted(); }
  std::uint64_t bytes_sent() const override { return bytes_sent_; }

 private:
  std::span<std::byte* const> no_credit(Look look) {
    if (look == Look::corrupt) breach_->corrupt(peer_ == everyone ? queue_.culprit() : peer_);
    return {};
  }

  SlotSender<HostMemory> queue_;
  SlotMemory<std::byte> slots_;
  int peer_;
  std::byte* place_ = nullptr;
  std::uint64_t bytes_sent_ = 0;
  Doorbells<HostMemory>* doorbells_;
  Breach* breach_;
};

/// From one peer, through the slots between the two or through its cast link.
class ShmRecvLink final : public RecvLink {
 public:
  ShmRecvLink(SlotReceiver<HostMemory> queue, const std::byte* slots, std::size_t slot_bytes,
              int peer, Doorbells<HostMemory>& doorbells, Breach& breach)
      : queue_(queue),
        slots_(slots, slot_bytes),
        peer_(peer),
        doorbells_(&doorbells),
        breach_(&breach) {}

  const std::byte* peek(std::size_t bytes) override {
    const Look look = queue_.look();
    if (look == Look::ready) return slots_.place_of(queue_, bytes);
    if (look == Look::corrupt) [[unlikely]]
      breach_->corrupt(peer_);
    return nullptr;
  }

  const std::byte* peek_announced(std::size_t bytes) override {
    queue_.learn();
    return slots_.place_of(queue_, bytes);
  }

  void place(std::byte*, std::size_t) override {}

  void release() override {
    queue_.release();
    doorbells_->kick(peer_);
  }

 private:
  SlotReceiver<HostMemory> queue_;
  SlotMemory<const std::byte> slots_;
  int peer_;
  Doorbells<HostMemory>* doorbells_;
  Breach* breach_;
};

}  // namespace gyre::transport::shm
