// Every message that authenticated ends of the control plane exchange. On the wire: 4 bytes length
// of the rest, 1 byte type, fields. Lengths are bounded here and counts are known on both sides, so
// a defective peer can at worst break its own connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/group.hpp"

namespace gyre::transport {

inline constexpr std::size_t frame_prefix_bytes = 4;
/// Of a whole frame: a record and its fields are the longest.
inline constexpr std::size_t frame_bytes_max = Group::record_bytes_max + 64;

enum class MessageType : std::uint8_t {
  contribution = 1,
  record = 2,
  round_complete = 3,
  failure = 4,
  goodbye = 5,
  process = 6,
  shared_memory = 7,
  lifeline = 8,
  received = 9,
  fetch = 10,
  segment = 11,
  withdrawal = 12,
};

/// The type of a message; nothing for an empty one. Unknown types are the receiver's to refuse.
std::optional<MessageType> type_of(std::span<const std::byte> message);

// Star: between rank 0 and the others. A message's `encode` gives a whole frame; `decode` takes
// what on_message gets, and gives nothing for what is cut, too long, or of another type.

/// A rank's share of the exchange of records number `sequence`.
struct Contribution {
  std::uint32_t sequence = 0;
  std::uint32_t timeout_ms = 0;  ///< how long this rank is willing to wait
  std::span<const std::byte> record;
};

/// One rank's record for all.
struct Record {
  std::uint32_t sequence = 0;
  std::int32_t rank = 0;
  std::span<const std::byte> record;
};

/// Every record of exchange `sequence` has been sent.
struct RoundComplete {
  std::uint32_t sequence = 0;
};

struct Goodbye {
  std::int32_t rank = 0;
};

// Share: between the lowest rank of a host and the others.

/// The member's process: comes with its pidfd.
struct Process {
  ProcessToken token = {};
};

/// Comes with the memory and the page of departures.
struct SharedMemory {
  std::uint64_t bytes = 0;
};

/// In which process `rank` is: that of `first`, the lowest rank in it. Comes with a pidfd when
/// `has_descriptor`: for the first rank of a process other than the receiver's.
struct Lifeline {
  std::int32_t rank = 0;
  std::int32_t first = 0;
  bool has_descriptor = false;
};

/// The member has everything.
struct Received {};

// Segments: between an importing and an exporting process.

struct Fetch {
  std::uint32_t segment = 0;
  std::uint32_t generation = 0;
};

/// The answer to a fetch: comes with the memfd when `found`.
struct SegmentAnswer {
  std::uint32_t segment = 0;
  std::uint32_t generation = 0;
  bool found = false;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Withdrawal {
  std::uint32_t segment = 0;
  std::uint32_t generation = 0;
};

std::vector<std::byte> encode(const Contribution& message);
std::vector<std::byte> encode(const Record& message);
std::vector<std::byte> encode(const RoundComplete& message);
std::vector<std::byte> encode(const GroupFailure& message);
std::vector<std::byte> encode(const Goodbye& message);
std::vector<std::byte> encode(const Process& message);
std::vector<std::byte> encode(const SharedMemory& message);
std::vector<std::byte> encode(const Lifeline& message);
std::vector<std::byte> encode(const Received& message);
std::vector<std::byte> encode(const Fetch& message);
std::vector<std::byte> encode(const SegmentAnswer& message);
std::vector<std::byte> encode(const Withdrawal& message);

std::optional<Contribution> decode_contribution(std::span<const std::byte> message);
std::optional<Record> decode_record(std::span<const std::byte> message);
std::optional<RoundComplete> decode_round_complete(std::span<const std::byte> message);
std::optional<GroupFailure> decode_failure(std::span<const std::byte> message);
std::optional<Goodbye> decode_goodbye(std::span<const std::byte> message);
std::optional<Process> decode_process(std::span<const std::byte> message);
std::optional<SharedMemory> decode_shared_memory(std::span<const std::byte> message);
std::optional<Lifeline> decode_lifeline(std::span<const std::byte> message);
bool decode_received(std::span<const std::byte> message);
std::optional<Fetch> decode_fetch(std::span<const std::byte> message);
std::optional<SegmentAnswer> decode_segment_answer(std::span<const std::byte> message);
std::optional<Withdrawal> decode_withdrawal(std::span<const std::byte> message);

}  // namespace gyre::transport
