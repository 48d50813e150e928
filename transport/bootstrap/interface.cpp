#include "transport/bootstrap/interface.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace gyre::transport {
namespace {

struct Pattern {
  bool inverted = false;
  bool exact = false;
  std::vector<std::string_view> names;
};

Pattern parse(std::string_view text) {
  Pattern pattern;
  if (text.starts_with('^')) {
    pattern.inverted = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    pattern.exact = true;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (const auto name = text.substr(0, comma); !name.empty()) pattern.names.push_back(name);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return pattern;
}

bool selects(const Pattern& pattern, std::string_view name) {
  bool matched = false;
  for (const auto wanted : pattern.names)
    matched = matched || (pattern.exact ? name == wanted : name.starts_with(wanted));
  return matched != pattern.inverted;
}

/// Lower is better; link-local addresses need a scope that other hosts number differently.
int preference(const InternetAddress& address) {
  if (address.family == InternetAddress::Family::v4) return 0;
  return address.scope == 0 ? 1 : 2;
}

std::string names_of(std::span<const Interface> interfaces) {
  std::string names;
  for (const auto& interface : interfaces) {
    if (!interface.up) continue;
    const auto entry = fmt::format("{} ({})", interface.name, text_of(interface.address));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry);
  }
  return names.empty() ? "none" : names;
}

/// The interface of `entry`, or nothing when it has no internet address.
bool read_entry(const ifaddrs& entry, Interface& interface) {
  if (!entry.ifa_addr) return false;
  interface.name = entry.ifa_name;
  interface.up = (entry.ifa_flags & IFF_UP) != 0;
  if (entry.ifa_addr->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, entry.ifa_addr, sizeof v4);
    interface.address.family = InternetAddress::Family::v4;
    std::memcpy(interface.address.address.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return true;
  }
  if (entry.ifa_addr->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, entry.ifa_addr, sizeof v6);
    interface.address.family = InternetAddress::Family::v6;
    std::memcpy(interface.address.address.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    interface.address.scope = v6.sin6_scope_id;
    return true;
  }
  return false;
}

}  // namespace

Result<Interface> choose_interface(std::span<const Interface> interfaces,
                                   std::string_view pattern) {
  const Pattern parsed = parse(pattern);
  if (parsed.names.empty())
    return Status(Code::invalid_argument,
                  fmt::format("the interface pattern \"{}\" names no interface; write for example "
                              "eth,ib (prefixes), =eth0 (exact), ^docker,lo (all but these)",
                              pattern));
  const Interface* best = nullptr;
  for (const auto& interface : interfaces) {
    if (!interface.up || !selects(parsed, interface.name)) continue;
    if (!best || preference(interface.address) < preference(best->address)) best = &interface;
  }
  if (best) return *best;
  return Status(Code::invalid_argument,
                fmt::format("no network interface that is up matches \"{}\"; there are: {}",
                            pattern, names_of(interfaces)));
}

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return system_error("getifaddrs", errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
    Interface interface;
    if (read_entry(*entry, interface)) interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

}  // namespace gyre::transport
