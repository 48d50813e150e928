// What the ranks of a communicator must share before they can talk: where rank 0 listens, and a
// secret that proves who may join.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"

namespace gyre::transport {

inline constexpr std::size_t secret_bytes = 16;
using Secret = std::array<std::byte, secret_bytes>;

/// An IP address and port in the order of bytes on the wire.
struct InternetAddress {
  enum class Family : std::uint8_t { v4 = 4, v6 = 6 };
  Family family = Family::v4;
  std::array<std::byte, 16> address = {};  ///< v4 uses the first four
  std::uint16_t port = 0;
  std::uint32_t scope = 0;  ///< v6 link-local: interface index on the listener's host

  bool operator==(const InternetAddress&) const = default;
};

/// "127.0.0.1:4000", "[::1]:4000"
std::string text_of(const InternetAddress& address);

struct UniqueId {
  static constexpr std::size_t encoded_bytes = 128;
  using Encoded = std::array<std::byte, encoded_bytes>;

  InternetAddress address;
  std::uint64_t job_nonce = 0;  ///< tells jobs apart, in messages too
  Secret secret = {};           ///< never printed

  /// Version 1, fixed layout, with a checksum (not a proof: against cut and mixed-up copies).
  Result<Encoded> encode() const;
  /// invalid_argument when the bytes are no id, damaged, or of another version.
  static Result<UniqueId> decode(std::span<const std::byte> bytes);
  /// Address and job, without the secret: fit for logs.
  std::string text() const;

  bool operator==(const UniqueId&) const = default;
};

}  // namespace gyre::transport
