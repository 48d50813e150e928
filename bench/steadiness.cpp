#include "bench/steadiness.hpp"

#include <utility>
#include <vector>

#include "bench/statistics.hpp"

namespace gyre::bench {

Steadiness::Steadiness(RoundTrip round_trip_ns, Pause pause)
    : round_trip_ns_(std::move(round_trip_ns)), pause_(std::move(pause)) {
  std::vector<double> looks;
  for (int look = 0; look < looks_to_learn; ++look) {
    looks.push_back(round_trip_ns_());
    pause_();
  }
  usual_ns_ = median(std::move(looks));
}

void Steadiness::settle() {
  std::vector<double> looks;
  for (int look = 0; look < looks_to_learn; ++look) {
    looks.push_back(round_trip_ns_());
    if (usual(looks.back())) return;
    pause_();
  }
  usual_ns_ = median(std::move(looks));
}

bool Steadiness::usual(double round_trip_ns) const {
  return round_trip_ns <= usual_ns_ * factor_max && round_trip_ns >= usual_ns_ / factor_max;
}

}  // namespace gyre::bench
