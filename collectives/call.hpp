// What a rank asks for, in the form in which ranks compare it: the header of an announcement.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "base/types.hpp"

namespace gyre::collectives {

/// One collective call, without its buffers. `count` is the whole operation's, as in
/// schedules::Plan: reduce_scatter and all_gather count the larger buffer.
struct Call {
  Collective collective = Collective::barrier;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  std::uint64_t count = 0;

  bool operator==(const Call&) const = default;
};

/// A call as it travels: two words. words[0] is the count; words[1], from bit 0: collective 8, type
/// 8, op 8, mapped 8, root 16, plan hash 16. `offers_mapped` says whether this rank's buffers are
/// mappable, which may differ between ranks; everything else must be equal.
struct Header {
  std::uint64_t words[2] = {};

  bool offers_mapped() const { return (words[1] >> mapped_shift & 1) != 0; }
  /// The same call, planned the same way?
  bool agrees_with(const Header& other) const {
    return words[0] == other.words[0] && ((words[1] ^ other.words[1]) & ~mapped_bit) == 0;
  }

  static constexpr int type_shift = 8;
  static constexpr int op_shift = 16;
  static constexpr int mapped_shift = 24;
  static constexpr int root_shift = 32;
  static constexpr int hash_shift = 48;
  static constexpr std::uint64_t mapped_bit = std::uint64_t{1} << mapped_shift;
};

constexpr Header encode(const Call& call, bool offers_mapped, std::uint16_t plan_hash) {
  Header header;
  header.words[0] = call.count;
  header.words[1] = static_cast<std::uint64_t>(call.collective) |
                    static_cast<std::uint64_t>(call.type) << Header::type_shift |
                    static_cast<std::uint64_t>(call.op) << Header::op_shift |
                    (offers_mapped ? Header::mapped_bit : 0) |
                    static_cast<std::uint64_t>(static_cast<std::uint16_t>(call.root))
                        << Header::root_shift |
                    static_cast<std::uint64_t>(plan_hash) << Header::hash_shift;
  return header;
}

/// For people: "all_reduce of 1024 float, sum". Takes any bits: a peer may have sent them.
std::string describe(const Header& header);

/// "broadcast of 8 int32 from rank 2"
std::string describe(const Call& call);

}  // namespace gyre::collectives
