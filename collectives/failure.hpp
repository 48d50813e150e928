// Puts a communicator's failure into words: what happened, who caused it, what to do.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "transport/endpoint.hpp"

namespace gyre::collectives {

/// `missing`: ranks that have not entered the failed operation, for a deadline.
Status explain(const transport::Failure& failure, const std::vector<int>& missing);

}  // namespace gyre::collectives
