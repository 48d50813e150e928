// Announcements in shared memory: a ring of places per rank, one writer each, read by all. What
// most operations announce fits the first cache line of a place; a little data takes more of them.
//
// A place is reused 16 operations later without any acknowledgement of its own. A rank announces
// operation q only when it has finished reading those of q-1, so a peer whose announcement of s-15
// can be seen no longer reads the place of s-16, which is where s goes.
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

/// Words of an announcement: the header's two, then the payload's.
inline constexpr std::size_t announcement_words = sizeof(Announcement) / sizeof(std::uint64_t);
inline constexpr std::size_t announcement_places = announcements_ahead_max;

template <class Memory, std::size_t words>
struct alignas(cache_line_bytes) AnnouncementPlace {
  typename Memory::template Atomic<std::uint64_t> sequence{};
  typename Memory::template Payload<std::uint64_t> value[words] = {};
};
static_assert(sizeof(AnnouncementPlace<HostMemory, announcement_words>) == 8 * cache_line_bytes);

/// One rank's view of everybody's rings. Belongs to one thread. `places` is the number of places
/// per ring and `words` the most words of each; both are smaller only in the explorer.
template <class Memory, std::size_t places = announcement_places,
          std::size_t words = announcement_words>
class Announcements {
 public:
  using Place = AnnouncementPlace<Memory, words>;
  using Ring = std::array<Place, places>;

  /// `rings` has one entry per rank; the rank writes only its own.
  Announcements(std::span<Ring> rings, int rank)
      : rings_(rings), rank_(static_cast<std::size_t>(rank)), known_(rings.size(), 0) {}

  /// At most `words` of `value`. not_yet: the place still belongs to operation `sequence` - places.
  Look announce(std::uint64_t sequence, std::span<const std::uint64_t> value) {
    if (sequence > places) {
      for (std::size_t peer = 0; peer < rings_.size(); ++peer) {
        const Look look = reached(peer, sequence - (places - 1));
        if (look != Look::ready) return look;
      }
    }
    Place& place = rings_[rank_][sequence % places];
    for (std::size_t i = 0; i < value.size(); ++i)
      place.value[i].store(value[i], std::memory_order_relaxed);
    place.sequence.store(sequence, std::memory_order_release);  // pairs with read() and reached()
    known_[rank_] = sequence;
    Memory::expect_stores(&rings_[rank_][(sequence + 1) % places], bytes_of(value.size()));
    return Look::ready;
  }

  /// The first words of `peer`'s announcement of `sequence`, as many as `value` has. corrupt: the
  /// place holds a later operation already.
  Look read(int peer, std::uint64_t sequence, std::span<std::uint64_t> value) {
    const Place& place = rings_[static_cast<std::size_t>(peer)][sequence % places];
    // Pairs with the store in announce(): the words are at least as new as the sequence.
    const std::uint64_t found = place.sequence.load(std::memory_order_acquire);
    if (found != sequence) {
      // So that all lines of the place come at once when they do, and not one after the first.
      Memory::expect_loads(&place, bytes_of(value.size()));
      return found > sequence ? Look::corrupt : Look::not_yet;
    }
    for (std::size_t i = 0; i < value.size(); ++i)
      value[i] = place.value[i].load(std::memory_order_relaxed);
    std::uint64_t& known = known_[static_cast<std::size_t>(peer)];
    if (known < sequence) known = sequence;
    return Look::ready;
  }

  /// The latest operation that `peer` has announced, 0 for none. For diagnosis.
  std::uint64_t last(int peer) const {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < places; ++i) {
      const Place& place = rings_[static_cast<std::size_t>(peer)][i];
      const std::uint64_t found = place.sequence.load(std::memory_order_relaxed);
      if (found % places == i && found > last) last = found;
    }
    return last;
  }

  /// After announce() found corrupt or not_yet: which peer it was.
  int culprit() const { return static_cast<int>(culprit_); }

 private:
  /// From the place's start to the end of its first `count` words.
  static constexpr std::size_t bytes_of(std::size_t count) {
    return (1 + count) * sizeof(std::uint64_t);
  }

  Look reached(std::size_t peer, std::uint64_t sequence) {
    if (known_[peer] >= sequence || peer == rank_) return Look::ready;
    culprit_ = peer;
    const Place& place = rings_[peer][sequence % places];
    // Pairs with the store in the peer's announce(): its reads of the place about to be reused are
    // over.
    const std::uint64_t found = place.sequence.load(std::memory_order_acquire);
    if (found < sequence) return Look::not_yet;
    // It cannot be a lap ahead of a rank whose announcements it needs.
    if (found > sequence + places || found % places != sequence % places) return Look::corrupt;
    known_[peer] = sequence;
    return Look::ready;
  }

  std::span<Ring> rings_;
  std::size_t rank_;
  std::size_t culprit_ = 0;
  std::vector<std::uint64_t> known_;  ///< what each peer is known to have announced
};

}  // namespace gyre::transport::shm
