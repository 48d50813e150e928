// Checks a caller's arguments before anything is touched, and says what is wrong and what would be
// right. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "collectives/call.hpp"

namespace gyre::collectives {

/// A collective call as the C API gets it. `part_count` is the caller's count: of the smaller
/// buffer for reduce_scatter and all_gather.
struct Arguments {
  Collective collective = Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t part_count = 0;
  int type = 0;
  int op = 0;
  int root = 0;
};

/// The call, or why it can't be made by rank `rank` of `size`.
Result<Call> check(const Arguments& arguments, int rank, int size);

}  // namespace gyre::collectives
