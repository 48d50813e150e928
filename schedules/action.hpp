// What one step of a schedule says. The host engine executes it over links, a CUDA block executes
// it with its threads, the checker executes it symbolically, the cost model times it.
//
// Waiting for slots is implied: an action that reads a slot waits until it was published and gives
// it back afterwards; one that writes a slot waits for a credit and publishes it afterwards. An
// action of count 0 that moves data uses no slot and is skipped by both of its sides; what it waits
// for and signals still holds.
#pragma once

#include <cstdint>

namespace gyre::schedules {

/// Where an operand lives.
enum class Place : std::uint8_t {
  none,
  input,    ///< this rank's send buffer
  output,   ///< this rank's receive buffer
  scratch,  ///< one piece of private memory, kept from one action to the next
  slot,     ///< source: next slot of the link `peer` -> me; destination: of the link me -> `peer`
  cast,     ///< source: next slot that `peer` published to everyone; destination: my own such slot
  mapped_input,  ///< `peer`'s send buffer, loaded directly

  // One operand per rank, in rank order, so that every rank combines in the same order.
  every_slot,    ///< source: a slot from each peer, and at my own place my input at `offset`
  every_cast,    ///< source: a cast slot from each peer, and at my own place my input at `offset`
  every_input,   ///< source: each rank's send buffer (mine included) at `offset`, loaded directly
  every_output,  ///< destination: each rank's receive buffer (mine included) at `offset`
};

/// `offset` counts elements from the start of the buffer that `place` names; slots ignore it.
struct Operand {
  Place place = Place::none;
  std::int32_t peer = -1;
  std::uint64_t offset = 0;
  constexpr bool operator==(const Operand&) const = default;
};

enum class Verb : std::uint8_t {
  none,     ///< moves no data: only waits or signals
  copy,     ///< the first source goes to every destination
  combine,  ///< the sources are reduced in order, the result goes to every destination
};

/// Events between ranks that share memory. Each is a counter with one writer. With several channels
/// a rank has left when all its channels have signalled so.
enum class Event : std::uint8_t {
  none,
  entered,  ///< a rank has announced the operation: its buffers may be read and written
  left,     ///< a rank no longer touches another rank's buffers
};

struct Action {
  Verb verb = Verb::none;
  /// The value written is complete: the op's closing step (avg: divide by the size) applies.
  bool finalize = false;
  /// The algorithm's own step number; pieces of one step share it. Ring: 0 .. 2(N-1).
  std::uint32_t stage = 0;
  /// Elements per operand.
  std::uint64_t count = 0;
  Operand source[2] = {};
  Operand destination[2] = {};
  Event wait = Event::none;    ///< before anything else: until every peer has done this
  Event signal = Event::none;  ///< after everything else: tell every peer
  constexpr bool operator==(const Action&) const = default;
};

/// A source of all ranks' operands stands alone; else source[1] is used by combine only.
constexpr bool is_every(Place place) { return place >= Place::every_slot; }

}  // namespace gyre::schedules
