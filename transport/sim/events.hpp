// Things that will happen at a virtual time, in one queue, and the hash that tells whether two runs
// were the same.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace gyre::transport {

struct SimEvent {
  enum class Kind : std::uint8_t {
    message,       ///< `rank` can see the first `value` messages of channel `channel`
    credit,        ///< the sender can see that reader `reader` has consumed `value` messages
    source,        ///< the transport has read the sources of the first `value` messages
    announcement,  ///< `rank` can see `peer`'s announcements up to `value`
    leave,         ///< `rank` can see that `peer` has left operations up to `value`
    import,        ///< import number `value` of `rank` is ready
    death,         ///< the death of `peer` is noticed
    abort,         ///< `rank` can see that the communicator has failed
    wake,          ///< `rank` is woken, for no reason of its own
  };

  Nanoseconds at = 0;
  Kind kind = Kind::wake;
  int rank = -1;
  int peer = -1;
  int channel = -1;
  int reader = -1;
  std::uint64_t value = 0;
};

/// Ordered by time; events of one moment come in an order drawn from the seed.
class SimEventQueue {
 public:
  explicit SimEventQueue(Random random) : random_(random) {}

  void push(const SimEvent& event) { heap_.push({event, random_(), pushed_++}); }
  bool empty() const { return heap_.empty(); }
  Nanoseconds next_at() const { return heap_.top().event.at; }
  SimEvent pop() {
    const SimEvent event = heap_.top().event;
    heap_.pop();
    return event;
  }

 private:
  struct Entry {
    SimEvent event;
    std::uint64_t lot;
    std::uint64_t order;
    bool operator<(const Entry& other) const {  // the least comes out last in a max-heap
      return std::tie(event.at, lot, order) > std::tie(other.event.at, other.lot, other.order);
    }
  };

  Random random_;
  std::uint64_t pushed_ = 0;
  std::priority_queue<Entry> heap_;
};

/// Hash of everything that happened, in order.
class SimTrace {
 public:
  template <typename... Words>
  void add(Words... words) {
    (add_word(static_cast<std::uint64_t>(words)), ...);
    ++entries_;
  }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t entries() const { return entries_; }

 private:
  void add_word(std::uint64_t word) {
    hash_ ^= word;
    hash_ = splitmix64(hash_);
  }
  std::uint64_t hash_ = 0;
  std::uint64_t entries_ = 0;
};

}  // namespace gyre::transport
