// What one rank of one communicator has of a transport: its links, the announcements that frame an
// operation, access to peers' memory, the abort word, and the doorbell for those who sleep.
//
// Everything except `abort`, `ring_all` and `aborted` belongs to the thread that drives the rank.
// Nothing blocks but `sleep`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "transport/link.hpp"

namespace gyre::transport {

/// The first words of every operation, sent by every rank to every rank: what it calls, and a
/// little of its data or a description of its buffers. With the sequence number eight cache lines,
/// of which a payload of 40 bytes uses one.
struct Announcement {
  static constexpr std::size_t payload_bytes_max = 488;

  std::uint64_t header[2] = {};  ///< encoded by collectives/fingerprint
  std::array<std::byte, payload_bytes_max> payload;
};

/// A rank may announce operations this far ahead of the slowest reader.
inline constexpr std::uint64_t announcements_ahead_max = 16;

/// Names a range of a mappable memory segment of some rank.
struct MappedRef {
  std::uint32_t segment = 0;     ///< 0: not mappable
  std::uint32_t generation = 0;  ///< changes when the owner frees the segment and reuses its number
  std::uint64_t offset = 0;      ///< bytes from the segment's start
};

struct Mapping {
  enum class State : std::uint8_t { ready, pending, refused };
  State state = State::refused;
  std::byte* data = nullptr;  ///< where State::ready
};

/// Why a communicator stopped. The first reason given wins; all ranks of a host see the same one.
struct Failure {
  Code code = Code::ok;  ///< peer_failed, aborted, mismatch, timeout, internal
  int rank = -1;         ///< who caused it, where known
  std::uint64_t sequence = 0;
  /// mismatch only: the two headers that disagree, rank's and reporter's.
  std::uint64_t header[2][2] = {};
  int reporter = -1;
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual LinkKind kind() const = 0;
  virtual SlotShape shape() const = 0;
  /// Whether every rank can load from and store to every other's mappable memory.
  virtual bool maps_memory() const = 0;

  // Links. Pairwise ones, and a cast link per rank that every peer reads.
  virtual SendLink& to(int peer) = 0;
  virtual RecvLink& from(int peer) = 0;
  virtual SendLink& to_all() = 0;
  virtual RecvLink& cast_from(int peer) = 0;

  // Announcements: sequence numbers start at 1 and rise by one with each operation. A rank
  // announces operation s only after it has finished with the announcements of all ranks for s-1.

  // Only the first `payload_bytes` of a payload are told and read; the others are unspecified.

  /// False while the slowest peer is announcements_ahead_max behind; try again later.
  virtual bool announce(std::uint64_t sequence, const Announcement& announcement,
                        std::size_t payload_bytes) = 0;
  /// Reads `peer`'s announcement of operation `sequence`; false when it has not come yet.
  virtual bool announced(int peer, std::uint64_t sequence, Announcement& announcement,
                         std::size_t payload_bytes) = 0;
  /// The last operation that `peer` has announced; for diagnosis.
  virtual std::uint64_t last_announced(int peer) const = 0;

  /// Tells every peer that this rank no longer touches their buffers for operation `sequence`.
  virtual void leave(std::uint64_t sequence) = 0;
  /// Whether `peer` has left operation `sequence`.
  virtual bool has_left(int peer, std::uint64_t sequence) = 0;

  // Diagnosis: how far a rank has come, for peers whose deadline passes while they wait.

  /// Leaves `standing` for the others to see. It only rises; what it counts is the caller's affair.
  virtual void note(std::uint64_t standing) = 0;
  /// What `peer` noted last, 0 before.
  virtual std::uint64_t noted(int peer) const = 0;

  /// Whether `peer` has left the communicator in good order: it announces nothing more.
  virtual bool has_departed(int peer) const = 0;

  /// The memory of `peer` that `ref` names, `bytes` long and inside its segment; starts an import
  /// when it is not mapped yet. Only where maps_memory().
  virtual Mapping map(int peer, const MappedRef& ref, std::size_t bytes) = 0;

  /// Moves messages on transports that need a hand (message links); true if anything moved.
  virtual bool pump() = 0;

  // Abort. Any thread; never waits for a peer.

  /// One load: whether this communicator has failed.
  virtual bool aborted() const = 0;
  /// Why; code ok while it has not failed.
  virtual Failure failure() const = 0;
  /// Fails the communicator for all ranks that share memory with this one; the first reason wins.
  virtual void abort(const Failure& failure) = 0;

  // Sleeping.

  /// Called between two looks at the links: after it returns, anything a peer publishes wakes the
  /// next sleep(). The caller must look once more before it sleeps.
  virtual void prepare_sleep() = 0;
  /// Sleeps until rung or until `timeout_ns` have passed. Ends what prepare_sleep began.
  virtual void sleep(std::int64_t timeout_ns) = 0;
  /// Ends what prepare_sleep began, without sleeping.
  virtual void cancel_sleep() = 0;
  /// Wakes this rank if it sleeps; any thread (background thread, control thread).
  virtual void wake() = 0;
};

}  // namespace gyre::transport
