// How often each kind of trouble really occurred in a run. A fault that never happens tests
// nothing, so tests over many seeds check that none of these stays at zero.
#pragma once

#include <cstdint>
#include <string_view>

namespace gyre::transport {

struct SimCoverage {
  std::uint64_t messages = 0;
  std::uint64_t overtaken = 0;
  std::uint64_t credit_waits = 0;
  std::uint64_t posted_from_user = 0;
  std::uint64_t late_sources = 0;
  std::uint64_t early_sources = 0;
  std::uint64_t in_place = 0;
  std::uint64_t in_place_declined = 0;
  std::uint64_t announce_busy = 0;
  std::uint64_t partial_pumps = 0;
  std::uint64_t spurious_wakes = 0;
  std::uint64_t imports_pending = 0;
  std::uint64_t imports_refused = 0;
  std::uint64_t pauses = 0;
  std::uint64_t kills = 0;
  std::uint64_t cut_messages = 0;
  std::uint64_t aborts = 0;
  std::uint64_t flips = 0;

  void add(const SimCoverage& other);
};

struct SimCoverageField {
  std::uint64_t SimCoverage::*count;
  std::string_view what;
};

inline constexpr SimCoverageField sim_coverage_fields[] = {
    {&SimCoverage::messages, "messages handed over"},
    {&SimCoverage::overtaken, "messages seen after a later one of the same sender on another link"},
    {&SimCoverage::credit_waits, "sends that found no credit"},
    {&SimCoverage::posted_from_user, "messages posted straight from user memory"},
    {&SimCoverage::late_sources, "sources still read after the message was delivered"},
    {&SimCoverage::early_sources, "sources released before the message was delivered"},
    {&SimCoverage::in_place, "messages received in place"},
    {&SimCoverage::in_place_declined, "wishes for that turned down"},
    {&SimCoverage::announce_busy, "announcements turned away at first"},
    {&SimCoverage::partial_pumps, "pumps that left something for later"},
    {&SimCoverage::spurious_wakes, "ranks woken for nothing"},
    {&SimCoverage::imports_pending, "mappings not ready when asked for"},
    {&SimCoverage::imports_refused, "mappings refused"},
    {&SimCoverage::pauses, "ranks stopped"},
    {&SimCoverage::kills, "ranks killed"},
    {&SimCoverage::cut_messages, "messages of a killed rank that were lost"},
    {&SimCoverage::aborts, "ranks that saw the communicator fail"},
    {&SimCoverage::flips, "bits inverted"},
};

inline void SimCoverage::add(const SimCoverage& other) {
  for (const auto& field : sim_coverage_fields) this->*field.count += other.*field.count;
}

}  // namespace gyre::transport
