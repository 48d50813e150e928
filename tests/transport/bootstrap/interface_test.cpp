#include "transport/bootstrap/interface.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace gyre;
using namespace gyre::transport;

namespace {

Interface v4(std::string name, int last, bool up = true) {
  Interface interface { std::move(name), {}, up };
  interface.address.address = {std::byte{10}, std::byte{0}, std::byte{0},
                               static_cast<std::byte>(last)};
  return interface;
}

Interface v6(std::string name, std::uint32_t scope) {
  Interface interface { std::move(name), {}, true };
  interface.address.family = InternetAddress::Family::v6;
  interface.address.address[15] = std::byte{9};
  interface.address.scope = scope;
  return interface;
}

const std::vector<Interface> machine = {
    v4("lo", 1),    v4("docker0", 2),    v6("eth0", 2), v4("eth0", 3), v4("eth1", 4),
    v4("eth10", 5), v4("ib0", 6, false), v6("wg0", 7),  v6("wg0", 0),
};

std::string chosen(std::string_view pattern) {
  const auto interface = choose_interface(machine, pattern);
  return interface.ok() ? interface->name + " " + text_of(interface->address) : "none";
}

}  // namespace

TEST_CASE("interfaces are chosen as NCCL writes them") {
  CHECK(chosen("lo") == "lo 10.0.0.1:0");
  CHECK(chosen("eth") == "eth0 10.0.0.3:0");      // IPv4 first
  CHECK(chosen("eth1") == "eth1 10.0.0.4:0");     // a prefix
  CHECK(chosen("=eth10") == "eth10 10.0.0.5:0");  // exact
  CHECK(chosen("=eth") == "none");
  CHECK(chosen("ib,eth1") == "eth1 10.0.0.4:0");  // ib0 is down
  CHECK(chosen("^lo,docker") == "eth0 10.0.0.3:0");
  CHECK(chosen("^=lo,docker0,eth0") == "eth1 10.0.0.4:0");
  CHECK(chosen("wg") == "wg0 [::9]:0");
}

TEST_CASE("a pattern that selects nothing is answered with what there is") {
  const auto none = choose_interface(machine, "bond");
  CHECK(none.status().code() == Code::invalid_argument);
  CHECK(none.status().message().find("\"bond\"") != std::string::npos);
  CHECK(none.status().message().find("docker0 (10.0.0.2:0)") != std::string::npos);
  for (const auto* empty : {"", "^", "=", "^=", ","})
    CHECK(choose_interface(machine, empty).status().code() == Code::invalid_argument);
}

TEST_CASE("this machine has a loopback interface") {
  const auto interfaces = list_interfaces();
  REQUIRE(interfaces.ok());
  const auto loopback = choose_interface(*interfaces, "=lo");
  REQUIRE(loopback.ok());
  CHECK(text_of(loopback->address) == "127.0.0.1:0");
}
