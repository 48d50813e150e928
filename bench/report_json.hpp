// The report as JSON, for plots and for other programs.
#pragma once

#include <string>

#include "base/status.hpp"
#include "bench/report.hpp"

namespace gyre::bench {

std::string json_text(const Report& report);

/// Writes it under its final name only when it is whole.
Status write_json(const Report& report, const std::string& path);

}  // namespace gyre::bench
