// Doorbells: how a rank that found nothing to do sleeps without missing what is published
// meanwhile, while a publisher pays one load of a line that hardly ever changes.
//
// A bit per rank, all in one cache line, says who is asleep. The sleeper sets its bit and then
// looks once more; a publisher stores and then reads the bits. One of the two must see the other,
// which needs a full fence between store and load on both sides: asymmetric, where the sleeper
// fences everyone; or symmetric, where both go through read-modify-writes of the same word, so that
// whoever comes second sees what the first one did before.
//
// Whether a ring comes too early is decided by the futex: the sleeper reads its ticket before it
// sets the bit, every ring changes the ticket, and the kernel refuses to sleep on a changed one.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/shm/counter.hpp"

namespace gyre::transport::shm {

inline constexpr int ranks_per_host_max = 256;
inline constexpr int sleepers_per_word = 64;

template <class Memory>
struct alignas(cache_line_bytes) Sleepers {
  typename Memory::template Atomic<std::uint64_t> words[ranks_per_host_max / sleepers_per_word] =
      {};
};
static_assert(sizeof(Sleepers<HostMemory>) == cache_line_bytes);

template <class Memory>
struct alignas(cache_line_bytes) Bell {
  typename Memory::template Atomic<std::uint32_t> ticket{};
};
static_assert(sizeof(Bell<HostMemory>) == cache_line_bytes);

template <class Memory>
class Doorbells {
 public:
  /// `bells` has one entry per rank.
  Doorbells(Sleepers<Memory>& sleepers, std::span<Bell<Memory>> bells, int rank, FenceMode mode)
      : sleepers_(&sleepers), bells_(bells), rank_(rank), mode_(mode) {}

  // Publishers: called after the store that `peer` may be waiting for.

  void kick(int peer) {
    const int word = peer / sleepers_per_word;
    if ((asleep(word) & bit_of(peer)) != 0) ring_sleeper(peer);
  }

  void kick_all() {
    const int size = static_cast<int>(bells_.size());
    for (int word = 0; word * sleepers_per_word < size; ++word) {
      std::uint64_t set = asleep(word);
      while (set != 0) {
        const int peer = word * sleepers_per_word + std::countr_zero(set);
        set &= set - 1;
        if (peer < size && peer != rank_) ring_sleeper(peer);
      }
    }
  }

  /// Wakes `rank` whatever its bit says; what was stored before is seen by its next look. Any
  /// thread.
  void ring(int rank) {
    Bell<Memory>& bell = bells_[static_cast<std::size_t>(rank)];
    bell.ticket.fetch_add(1, std::memory_order_release);  // pairs with the load in prepare()
    Memory::futex_wake(bell.ticket);
  }

  // The sleeper: prepare, look again, then sleep or cancel.

  void prepare() {
    // Pairs with ring(): a ring that this ticket includes needs no other wake-up, because the look
    // that follows sees what it rang for.
    ticket_ = bells_[static_cast<std::size_t>(rank_)].ticket.load(std::memory_order_acquire);
    // Pairs with asleep() of a publisher in symmetric mode that came first.
    own_word().fetch_or(bit_of(rank_), std::memory_order_acquire);
    // Pairs with publisher_fence() in asleep().
    if (mode_ == FenceMode::asymmetric) Memory::sleeper_fence();
  }

  void sleep(std::int64_t timeout_ns) {
    Memory::futex_wait(bells_[static_cast<std::size_t>(rank_)].ticket, ticket_, timeout_ns);
    cancel();
  }

  void cancel() { own_word().fetch_and(~bit_of(rank_), std::memory_order_relaxed); }

 private:
  using Word = typename Memory::template Atomic<std::uint64_t>;

  static std::uint64_t bit_of(int rank) { return std::uint64_t{1} << (rank % sleepers_per_word); }
  Word& own_word() { return sleepers_->words[rank_ / sleepers_per_word]; }

  std::uint64_t asleep(int word) {
    Word& bits = sleepers_->words[word];
    if (mode_ == FenceMode::asymmetric) {
      Memory::publisher_fence();  // pairs with sleeper_fence() in prepare()
      return bits.load(std::memory_order_relaxed);
    }
    // A write that changes nothing, for its place in the order of writes to this word. Pairs with
    // the fetch_or in prepare() where that comes later.
    return bits.fetch_or(0, std::memory_order_release);
  }

  /// The one publisher that takes the bit away rings, so that a rank which has been woken but does
  /// not run yet costs the others no system calls. Should this one be killed in between, the rank
  /// is woken by the abort that follows.
  void ring_sleeper(int peer) {
    Word& bits = sleepers_->words[peer / sleepers_per_word];
    const std::uint64_t before = bits.fetch_and(~bit_of(peer), std::memory_order_relaxed);
    if ((before & bit_of(peer)) != 0) ring(peer);
  }

  Sleepers<Memory>* sleepers_;
  std::span<Bell<Memory>> bells_;
  int rank_;
  FenceMode mode_;
  std::uint32_t ticket_ = 0;
};

}  // namespace gyre::transport::shm
