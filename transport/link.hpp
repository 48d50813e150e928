// A link is one direction from one rank to its peer (or, as a cast link, to all peers) on one
// channel: a first-in first-out queue of messages through a fixed number of slots, with credits.
//
// Both ends know from their plan how many bytes each message has; lengths are never read from a
// peer. All calls belong to the one thread that drives the rank, never block and read no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gyre::transport {

enum class LinkKind : std::uint8_t {
  memory,   ///< the sender stores into the receiver's slots
  message,  ///< the sender posts, the transport carries
};

/// Limits that both ends of all links of a communicator share.
struct SlotShape {
  std::size_t slot_bytes = 0;  ///< capacity of one slot
  int slots = 0;               ///< slots per link
};

/// The sending end.
class SendLink {
 public:
  virtual ~SendLink() = default;

  /// Where the next message, of `bytes` <= slot_bytes, may be written: one or more places, each of
  /// which must be given the same bytes; empty when there is no credit. Asking again without
  /// publishing gives the same answer. A message link gives one staging buffer here.
  virtual std::span<std::byte* const> reserve(std::size_t bytes) = 0;

  /// Hands over what was written to the reserved places: as many bytes as they were reserved for.
  virtual void publish(std::size_t bytes) = 0;

  /// As publish, for a message that every receiver learns of from an announcement made after it,
  /// and takes with peek_announced(): a memory link then moves no counter between the two cores.
  virtual void publish_announced(std::size_t bytes) { publish(bytes); }

  /// Message links only: sends straight from `data`, which must stay as it is until
  /// released() >= the value that posted() has after this call. False when there is no credit.
  virtual bool post(const std::byte* data, std::size_t bytes) = 0;

  /// Messages handed over so far, by publish or post.
  virtual std::uint64_t posted() const = 0;
  /// Messages whose source memory the transport no longer reads. Equals posted() on memory links.
  virtual std::uint64_t released() const = 0;
  /// Payload bytes stored or posted since creation, counted where they are handed over, for each
  /// copy (a cast to three peers through three slots counts three times, through one slot once).
  virtual std::uint64_t bytes_sent() const = 0;
};

/// The receiving end.
class RecvLink {
 public:
  virtual ~RecvLink() = default;

  /// The oldest message not yet released, or nullptr when none has arrived. `bytes` is what the
  /// plan says it has; on a message link it is checked against what arrived.
  virtual const std::byte* peek(std::size_t bytes) = 0;

  /// As peek, for a message whose sender handed it over by publish_announced() before an
  /// announcement that has been seen.
  virtual const std::byte* peek_announced(std::size_t bytes) { return peek(bytes); }

  /// A wish, given before the oldest message has arrived: if it is still possible, put it straight
  /// at `into`. peek() then returns `into`. Memory links ignore it.
  virtual void place(std::byte* into, std::size_t bytes) = 0;

  /// Gives the slot of the oldest message back to the sender.
  virtual void release() = 0;
};

}  // namespace gyre::transport
