// Actions in words, for the checker's reasons: "stage 3: combine slot<-1 + input[4..7) to slot->3".
#pragma once

#include <string>

#include "schedules/action.hpp"

namespace gyre::schedules::checker {

std::string describe(const Action& action);

/// What keeps `action` from meaning anything on a rank `rank` of `size`, whatever happened before
/// it; nullptr if nothing does.
const char* why_malformed(const Action& action, int rank, int size);

}  // namespace gyre::schedules::checker
