// Which network interface to listen on. The syntax is NCCL_SOCKET_IFNAME's: comma-separated
// prefixes
// ("eth,ib"), exact names after '=' ("=eth0"), and '^' in front to mean all but these
// ("^docker,lo").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "transport/bootstrap/unique_id.hpp"

namespace gyre::transport {

struct Interface {
  std::string name;
  InternetAddress address;  ///< port 0
  bool up = true;
};

/// The first interface in `interfaces` that is up and that `pattern` selects, IPv4 before IPv6, and
/// global before link-local addresses. invalid_argument, naming what there is, when none does.
Result<Interface> choose_interface(std::span<const Interface> interfaces, std::string_view pattern);

/// What this machine has (getifaddrs).
Result<std::vector<Interface>> list_interfaces();

}  // namespace gyre::transport
