// Proof of a shared secret: HMAC-SHA-256 (RFC 2104, FIPS 180-4) from libcrypto, a comparison whose
// time does not depend on the data, and the kernel's random bytes for nonces and secrets.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/status.hpp"

namespace gyre {

inline constexpr std::size_t mac_bytes = 32;
using Mac = std::array<std::byte, mac_bytes>;

/// HMAC-SHA-256 of `message` under `key`. Fails only when libcrypto does (out of memory, or a
/// configuration without SHA-256).
Result<Mac> hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// Whether both are equal, in a time that depends on their length only.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b);

/// Fills `into` (at most 256 bytes) with unpredictable bytes from getrandom(2).
Status fill_random(std::span<std::byte> into);

}  // namespace gyre
