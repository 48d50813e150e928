// Which schedule runs a call, and with which pieces: a pure function of what all ranks share. The
// rules are rank 0's, handed to everybody when the communicator is made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "collectives/call.hpp"
#include "schedules/table.hpp"

namespace gyre::collectives {

/// The first rule that fits decides. A rule fits a call of its collective whose bytes (of the
/// larger buffer) are at most bytes_max, with at least ranks_min ranks, and with mapped buffers if
/// its algorithm needs them.
struct Rule {
  const schedules::Schedule* schedule;  ///< a row of the schedule table, and so the collective
  std::uint64_t bytes_max;
  int ranks_min;
  std::uint32_t piece_bytes;  ///< per message or pass; slots may be smaller
};

/// Measured rules for ranks that share a host.
std::vector<Rule> default_rules();

/// What is known about a communicator when a call is planned; the same on every rank.
struct Tuning {
  std::vector<Rule> rules = default_rules();
  std::string forced;                ///< algorithm named by GYRE_ALGORITHM, "" for none
  std::uint32_t slot_bytes = 65536;  ///< capacity of a slot
  int slots = 8;                     ///< per link
};

struct Choice {
  const schedules::Schedule* schedule = nullptr;
  std::uint32_t piece_bytes = 0;
  std::string_view reason;  ///< for the log
};

/// `all_mapped`: every rank's buffers can be mapped by every rank. Fails only for a forced
/// algorithm that this collective does not have; a forced mapped one falls back to the rules when
/// the buffers are not mappable.
Result<Choice> choose(const Tuning& tuning, const Call& call, int size, bool all_mapped);

/// Whether `name` names an algorithm of any collective; else an error that lists those there are.
Status check_algorithm(std::string_view name);

/// Short digest of a choice for the header: ranks with other rules or pieces are noticed.
std::uint16_t hash_of(const Choice& choice, const Tuning& tuning);

}  // namespace gyre::collectives
