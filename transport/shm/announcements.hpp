// Announcements in shared memory: a ring of cache lines per rank, one writer each, read by all.
//
// A line is reused 16 operations later without any acknowledgement of its own. A rank announces
// operation q only when it has finished reading those of q-1, so a peer whose announcement of s-15
// can be seen no longer reads the line of s-16, which is where s goes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/shm/counter.hpp"

namespace gyre::transport::shm {

/// An announcement as words: the header's two, then the payload's five.
using AnnouncementWords = std::array<std::uint64_t, 7>;
static_assert(sizeof(AnnouncementWords) == sizeof(Announcement));

inline constexpr std::size_t announcement_lines = announcements_ahead_max;

template <class Memory>
struct alignas(cache_line_bytes) AnnouncementLine {
  typename Memory::template Atomic<std::uint64_t> sequence{};
  typename Memory::template Payload<std::uint64_t> words[7] = {};
};
static_assert(sizeof(AnnouncementLine<HostMemory>) == cache_line_bytes);

/// One rank's view of everybody's rings. Belongs to one thread. `lines` is the number of lines per
/// ring and `words` the words used of each; both are smaller only in the explorer.
template <class Memory, std::size_t lines = announcement_lines, std::size_t words = 7>
class Announcements {
 public:
  using Ring = std::array<AnnouncementLine<Memory>, lines>;
  using Words = std::array<std::uint64_t, words>;

  /// `rings` has one entry per rank; the rank writes only its own.
  Announcements(std::span<Ring> rings, int rank)
      : rings_(rings), rank_(static_cast<std::size_t>(rank)), known_(rings.size(), 0) {}

  /// not_yet: the line still belongs to operation `sequence` - lines.
  Look announce(std::uint64_t sequence, const Words& value) {
    if (sequence > lines) {
      for (std::size_t peer = 0; peer < rings_.size(); ++peer) {
        const Look look = reached(peer, sequence - (lines - 1));
        if (look != Look::ready) return look;
      }
    }
    AnnouncementLine<Memory>& line = rings_[rank_][sequence % lines];
    for (std::size_t i = 0; i < words; ++i)
      line.words[i].store(value[i], std::memory_order_relaxed);
    line.sequence.store(sequence, std::memory_order_release);  // pairs with read() and reached()
    known_[rank_] = sequence;
    Memory::expect_stores(&rings_[rank_][(sequence + 1) % lines], sizeof line);
    return Look::ready;
  }

  /// `peer`'s announcement of `sequence`. corrupt: the line holds a later operation already.
  Look read(int peer, std::uint64_t sequence, Words& value) {
    const AnnouncementLine<Memory>& line = rings_[static_cast<std::size_t>(peer)][sequence % lines];
    // Pairs with the store in announce(): the words are at least as new as the sequence.
    const std::uint64_t found = line.sequence.load(std::memory_order_acquire);
    if (found != sequence) return found > sequence ? Look::corrupt : Look::not_yet;
    for (std::size_t i = 0; i < words; ++i)
      value[i] = line.words[i].load(std::memory_order_relaxed);
    std::uint64_t& known = known_[static_cast<std::size_t>(peer)];
    if (known < sequence) known = sequence;
    return Look::ready;
  }

  /// The latest operation that `peer` has announced, 0 for none. For diagnosis.
  std::uint64_t last(int peer) const {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < lines; ++i) {
      const auto& line = rings_[static_cast<std::size_t>(peer)][i];
      const std::uint64_t found = line.sequence.load(std::memory_order_relaxed);
      if (found % lines == i && found > last) last = found;
    }
    return last;
  }

  /// After announce() found corrupt or not_yet: which peer it was.
  int culprit() const { return static_cast<int>(culprit_); }

 private:
  Look reached(std::size_t peer, std::uint64_t sequence) {
    if (known_[peer] >= sequence || peer == rank_) return Look::ready;
    culprit_ = peer;
    const AnnouncementLine<Memory>& line = rings_[peer][sequence % lines];
    // Pairs with the store in the peer's announce(): its reads of the line about to be reused are
    // over.
    const std::uint64_t found = line.sequence.load(std::memory_order_acquire);
    if (found < sequence) return Look::not_yet;
    // It cannot be a lap ahead of a rank whose announcements it needs.
    if (found > sequence + lines || found % lines != sequence % lines) return Look::corrupt;
    known_[peer] = sequence;
    return Look::ready;
  }

  std::span<Ring> rings_;
  std::size_t rank_;
  std::size_t culprit_ = 0;
  std::vector<std::uint64_t> known_;  ///< what each peer is known to have announced
};

}  // namespace gyre::transport::shm
