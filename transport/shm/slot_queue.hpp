// The two ends of a link's slots: credits on monotonic counters, one writer each. What is in the
// slots, and where they lie, is the caller's affair; here is only who may touch slot i, and when.
//
// Both ends keep their own position privately and take nothing but the other's counter from shared
// memory, checked against the bound that credits give it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/shm/counter.hpp"

namespace gyre::transport::shm {

/// The sending end, for one receiver or (a cast) for several that all read the same slots.
/// Belongs to one thread.
template <class Memory>
class SlotSender {
 public:
  /// `consumed` holds a counter per receiver, read only here; `skip` is an index that is no
  /// receiver (the sender itself), or -1.
  SlotSender(Counter<Memory>& published, std::span<const Counter<Memory>> consumed, int skip,
             int slots)
      : published_(&published),
        consumed_(consumed),
        skip_(skip),
        slots_(static_cast<std::uint64_t>(slots)) {}

  /// ready: slot index() may be written. Costs nothing but arithmetic while credits last, and one
  /// load while the slowest receiver holds them back.
  Look look() {
    if (posted_ - slowest_ < slots_) return Look::ready;
    return refresh();
  }

  /// The slot of the next message, and how often all slots had been used before.
  std::size_t index() const { return index_; }
  std::uint64_t lap() const { return lap_; }

  /// Hands slot index() over.
  void publish() {
    publish_announced();
    published_->set(posted_);
  }

  /// Hands slot index() over to receivers that learn of it by an announcement made afterwards. The
  /// counter stays behind until the next publish().
  void publish_announced() {
    ++posted_;
    if (++index_ < slots_) return;
    index_ = 0;
    ++lap_;
  }

  std::uint64_t posted() const { return posted_; }

  /// After Look::corrupt: which receiver's counter it was.
  int culprit() const { return static_cast<int>(laggard_); }

 private:
  Look refresh() {
    if (laggard_ < consumed_.size() && is_receiver(laggard_)) {
      const Look look = check(consumed_[laggard_].get());
      if (look != Look::ready) return look;
    }
    std::uint64_t slowest = posted_;
    for (std::size_t i = 0; i < consumed_.size(); ++i) {
      if (!is_receiver(i)) continue;
      const std::uint64_t consumed = consumed_[i].get();
      if (const Look look = check(consumed); look != Look::ready) {
        laggard_ = i;
        return look;
      }
      if (consumed < slowest) slowest = consumed;
    }
    slowest_ = slowest;
    return Look::ready;
  }

  /// A receiver has consumed at least what it had before, and at most what was sent.
  Look check(std::uint64_t consumed) const {
    if (consumed > posted_ || consumed < slowest_) return Look::corrupt;
    return posted_ - consumed < slots_ ? Look::ready : Look::not_yet;
  }

  bool is_receiver(std::size_t i) const { return static_cast<int>(i) != skip_; }

  Counter<Memory>* published_;
  std::span<const Counter<Memory>> consumed_;
  int skip_;
  std::uint64_t slots_;
  std::uint64_t posted_ = 0;
  std::uint64_t slowest_ = 0;  ///< every receiver has consumed at least this much
  std::size_t index_ = 0;
  std::uint64_t lap_ = 0;
  std::size_t laggard_ = 0;  ///< the receiver that last held the sender back: asked first
};

/// The receiving end. Belongs to one thread.
template <class Memory>
class SlotReceiver {
 public:
  SlotReceiver(const Counter<Memory>& published, Counter<Memory>& consumed, int slots)
      : published_(&published), consumed_(&consumed), slots_(static_cast<std::uint64_t>(slots)) {}

  /// ready: slot index() holds the oldest message. One load, none while messages are known of.
  Look look() {
    if (seen_ != released_) return Look::ready;
    const std::uint64_t published = published_->get();
    if (published < counted_) return Look::corrupt;
    counted_ = published;
    if (published <= seen_) return Look::not_yet;  // fewer: announcements told of the rest
    if (published - released_ > slots_) return Look::corrupt;
    seen_ = published;
    return Look::ready;
  }

  /// An announcement, already seen, told of the oldest message: slot index() holds it.
  void learn() {
    if (seen_ == released_) ++seen_;
  }

  std::size_t index() const { return index_; }
  std::uint64_t lap() const { return lap_; }

  /// Gives slot index() back.
  void release() {
    consumed_->set(++released_);
    if (++index_ < slots_) return;
    index_ = 0;
    ++lap_;
  }

 private:
  const Counter<Memory>* published_;
  Counter<Memory>* consumed_;
  std::uint64_t slots_;
  std::uint64_t counted_ = 0;  ///< what the counter said last
  std::uint64_t seen_ = 0;     ///< messages known of
  std::uint64_t released_ = 0;
  std::size_t index_ = 0;
  std::uint64_t lap_ = 0;
};

}  // namespace gyre::transport::shm
