// Why the communicator failed, for all ranks of a host. Everything that decides is in one word, set
// by one compare-exchange: who comes first wins, and nobody can die halfway through. What does not
// fit (sequence, the headers of a mismatch) lies in a line of the reporter's own, written before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/endpoint.hpp"
#include "transport/shm/counter.hpp"

namespace gyre::transport::shm {

template <class Memory>
struct alignas(cache_line_bytes) FailureWord {
  typename Memory::template Atomic<std::uint64_t> packed{};
};

template <class Memory>
struct alignas(cache_line_bytes) FailureDetails {
  typename Memory::template Payload<std::uint64_t> words[5] = {};
};
static_assert(sizeof(FailureDetails<HostMemory>) == cache_line_bytes);

/// The word: code in bits 0..7, rank + 1 from bit 8, reporter + 1 from bit 32. Never 0.
std::uint64_t pack_failure(Code code, int rank, int reporter);
/// Reads a word that anybody may have written: what is out of range becomes Code::internal, or no
/// rank. `ranks` bounds the reporter.
Failure unpack_failure(std::uint64_t packed, int ranks);

template <class Memory>
class FailureRecord {
 public:
  /// `details` has one line per rank.
  FailureRecord(FailureWord<Memory>& word, std::span<FailureDetails<Memory>> details, int rank)
      : word_(&word), details_(details), rank_(rank) {}

  /// The data path's poll. Orders nothing: who needs the reason calls get().
  bool failed() const { return word_->packed.load(std::memory_order_relaxed) != 0; }

  /// Records `failure` unless there is one already. One thread of a rank at a time.
  void set(const Failure& failure) {
    if (failed()) return;
    FailureDetails<Memory>& mine = details_[static_cast<std::size_t>(rank_)];
    const std::uint64_t words[5] = {failure.sequence, failure.header[0][0], failure.header[0][1],
                                    failure.header[1][0], failure.header[1][1]};
    for (std::size_t i = 0; i < 5; ++i) mine.words[i].store(words[i], std::memory_order_relaxed);
    std::uint64_t none = 0;
    word_->packed.compare_exchange_strong(
        none, pack_failure(failure.code, failure.rank, rank_),
        std::memory_order_release,  // pairs with the load in get()
        std::memory_order_relaxed);
  }

  /// The failure, or Code::ok.
  Failure get() const {
    // Pairs with the compare-exchange in set(): the winner's details are complete.
    const std::uint64_t packed = word_->packed.load(std::memory_order_acquire);
    if (packed == 0) return {};
    Failure failure = unpack_failure(packed, static_cast<int>(details_.size()));
    if (failure.reporter < 0) return failure;
    const auto& words = details_[static_cast<std::size_t>(failure.reporter)].words;
    failure.sequence = words[0].load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < 4; ++i)
      failure.header[i / 2][i % 2] = words[1 + i].load(std::memory_order_relaxed);
    return failure;
  }

 private:
  FailureWord<Memory>* word_;
  std::span<FailureDetails<Memory>> details_;
  int rank_;
};

}  // namespace gyre::transport::shm
