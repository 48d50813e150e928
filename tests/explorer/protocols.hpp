// The protocols of transport/shm as small programs for the explorer: a few ranks, few slots, enough
// messages to go around them more than once.
#pragma once

#include <vector>

#include "tests/explorer/explorer.hpp"

namespace gyre::explorer {

struct Protocol {
  const char* name;
  Program (*make)();  ///< anew for each exploration
};

/// Quickest first.
const std::vector<Protocol>& protocols();

}  // namespace gyre::explorer
