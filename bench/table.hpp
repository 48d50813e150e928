// The report as text: nccl-tests' columns and ours, the comparison, the summary. Pure: strings in,
// strings out.
#pragma once

#include <string>

#include "bench/report.hpp"

namespace gyre::bench {

/// What was measured, on what, and the column heads. Every line of it begins with '#'.
std::string header_text(const Report& report);

std::string row_text(const Report& report, const Row& row);

/// Peers' times and ratios per size; "" without peers.
std::string comparison_text(const Report& report);

/// One line per peer, the verdict, and what a reader has to know.
std::string summary_text(const Report& report);

/// Four significant digits: "0.251", "12.34", "1234".
std::string number_text(double value);

}  // namespace gyre::bench
