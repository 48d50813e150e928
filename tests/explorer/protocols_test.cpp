// The protocols of transport/shm hold in every execution that C++ allows, within the bounds of
// protocols.cpp, and none of their memory orders could be weaker.
#include "tests/explorer/protocols.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

namespace gyre::explorer {
namespace {

/// What exploring each of protocols() gave; done once for all cases.
const std::vector<Report>& reports() {
  static const std::vector<Report> all = [] {
    std::vector<Report> done;
    for (const Protocol& protocol : protocols()) done.push_back(explore(protocol.make()));
    return done;
  }();
  return all;
}

/// The name of the first protocol that `weakening` breaks, or "".
std::string caught_by(const Weakening& weakening) {
  for (const Protocol& protocol : protocols())
    if (!explore(protocol.make(), &weakening).failure.empty()) return protocol.name;
  return "";
}

}  // namespace

TEST_CASE("every protocol holds in every execution") {
  for (std::size_t i = 0; i < protocols().size(); ++i) {
    INFO("protocol " << protocols()[i].name);
    REQUIRE(reports()[i].failure == "");
    CHECK(reports()[i].states > 50);
  }
}

TEST_CASE("whoever looks at the failure record sees the same reason") {
  for (std::size_t i = 0; i < protocols().size(); ++i)
    if (std::string(protocols()[i].name) == "failure")
      CHECK(reports()[i].outcomes == std::set<std::vector<std::uint64_t>>{{1, 1, 1}, {2, 2, 2}});
}

TEST_CASE("every memory order and fence is necessary") {
  std::set<Weakening> sites;
  for (const Report& report : reports())
    for (const Weakening& site : report.sites)
      if (site.file.find("transport/shm/") != std::string::npos) sites.insert(site);
  CHECK(sites.size() >= 13);
  for (const Weakening& site : sites) {
    INFO(site.file << ":" << site.line << " from order " << static_cast<int>(site.from) << " to "
                   << static_cast<int>(site.to) << (site.is_fence ? ", fence left out" : ""));
    CHECK(caught_by(site) != "");
  }
}

}  // namespace gyre::explorer
