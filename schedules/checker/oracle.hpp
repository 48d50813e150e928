// A second opinion on what the checker lets pass: runs a schedule on concrete numbers, with every
// rank advancing at random, memory that starts out poisoned and a caller who overwrites his buffers
// the moment the operation has returned. It finds what happens to go wrong in the runs it makes and
// proves nothing; but it shares no reasoning with the checker, only World.
#pragma once

#include <cstdint>
#include <string>

#include "schedules/checker/world.hpp"

namespace gyre::schedules::checker {

/// One run, all of whose choices follow from `seed`. Returns what went wrong, "" if nothing did.
std::string run_concrete(const Schedule& schedule, const World& world, std::uint64_t seed,
                         const Override* override = nullptr);

}  // namespace gyre::schedules::checker
