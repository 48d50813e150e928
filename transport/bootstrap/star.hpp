// One rank's place in the star of control connections through rank 0: rank 0 is the hub, the others
// are its spokes. Both offer the same to their owner, who need not know which it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "transport/bootstrap/group.hpp"

namespace gyre::transport {

/// What a star tells its owner, on the control thread. A callee may not destroy the star.
class StarEvents {
 public:
  virtual ~StarEvents() = default;
  /// `rank`'s record in exchange `sequence`; all come before on_complete.
  virtual void on_record(std::uint32_t sequence, int rank, std::span<const std::byte> record) = 0;
  virtual void on_complete(std::uint32_t sequence) = 0;
  /// The group has failed, or (refused) this rank may not join it.
  virtual void on_failure(const GroupFailure& failure) = 0;
  virtual void on_departed(int rank) = 0;
};

/// Exchange 0 is the join itself: every rank contributes an empty record by joining.
inline constexpr std::uint32_t join_sequence = 0;

/// Control thread only.
class Star {
 public:
  virtual ~Star() = default;
  /// Gives this rank's record in exchange `sequence`. `timeout_ms` is what is left to `deadline`.
  virtual void contribute(std::uint32_t sequence, std::span<const std::byte> record,
                          std::uint32_t timeout_ms, Deadline deadline) = 0;
  /// Tells all other ranks.
  virtual void spread(const GroupFailure& failure) = 0;
  virtual void say_goodbye() = 0;
};

/// The failure of `rank` with these words.
inline GroupFailure failure_of(Code code, int rank, std::string text) {
  GroupFailure failure;
  failure.what.code = code;
  failure.what.rank = rank;
  failure.text = std::move(text);
  return failure;
}

}  // namespace gyre::transport
