// Whether a run fits into memory, known before anything is started.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "bench/options.hpp"

namespace gyre::bench {

/// What a rank process takes besides the buffers: its program, a library's slots and caches.
inline constexpr std::uint64_t process_bytes = std::uint64_t{48} << 20;
/// Of the memory that is available, so much is used at most.
inline constexpr double usable_share = 0.8;

/// Bytes that all rank processes alive at one time need for a row of `bytes`. With peers, gyre and
/// one of them hold buffers at any time; libraries that sleep hold none.
std::uint64_t bytes_needed(const Options& options, std::uint64_t bytes);

struct Budget {
  std::uint64_t bytes_max = 0;  ///< the largest size that fits, at most what was asked for
  std::string note;             ///< why sizes were capped; "" if they were not
};

/// Caps options.bytes_max to what fits; an error if not even options.bytes_min does.
Result<Budget> fit(const Options& options, std::uint64_t available_bytes);

}  // namespace gyre::bench
