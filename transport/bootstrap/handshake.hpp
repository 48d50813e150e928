// How two ends of a connection prove to each other that they know the same secret before anything
// else is said. The server sends a challenge with its nonce, the client a hello with its own nonce
// and a MAC over both and all fields, the server a welcome with a MAC the other way. Pure functions
// over bytes: this is all that a stranger's bytes ever reach.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "transport/bootstrap/unique_id.hpp"

namespace gyre::transport {

/// Raised whenever any message of the control plane changes.
inline constexpr std::uint16_t protocol_version = 1;

using Nonce = std::array<std::byte, 16>;

/// What a connection is for. A proof for one purpose is none for another.
enum class Purpose : std::uint8_t { join = 1, share = 2, segments = 3 };

struct Hello {
  static constexpr std::size_t prefix_bytes = 8;
  static constexpr std::size_t bytes_max = 256;

  std::uint16_t protocol = protocol_version;
  Purpose purpose = Purpose::join;
  std::uint32_t build = 0;
  std::uint64_t job_nonce = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t timeout_ms = 0;  ///< how long the client is willing to wait
  Nonce client_nonce = {};
};

/// The build that this is: 0x00MMmmpp of version MM.mm.pp.
std::uint32_t build_version();

inline constexpr std::size_t challenge_bytes = 24;
std::array<std::byte, challenge_bytes> encode_challenge(const Nonce& server_nonce);
/// nothing: whoever sent this is no gyre.
std::optional<Nonce> decode_challenge(std::span<const std::byte> bytes);

Result<std::vector<std::byte>> encode_hello(const Secret& secret, const Nonce& server_nonce,
                                            const Hello& hello);
/// Bytes of the whole hello that begins with these prefix_bytes; nothing for what can be no hello.
std::optional<std::size_t> hello_bytes(std::span<const std::byte> prefix);
/// nothing: not authentic. A hello of another protocol version that is authentic has only
/// `protocol` and `client_nonce` filled in, so that its sender can be told.
std::optional<Hello> decode_hello(const Secret& secret, const Nonce& server_nonce,
                                  std::span<const std::byte> bytes);

/// The answer to an authentic hello. `refusal` has the words when `code` is not ok.
struct Welcome {
  static constexpr std::size_t prefix_bytes = 8;
  static constexpr std::size_t bytes_max = 512;

  Code code = Code::ok;
  std::string refusal;
};

Result<std::vector<std::byte>> encode_welcome(const Secret& secret, const Nonce& server_nonce,
                                              const Nonce& client_nonce, const Welcome& welcome);
std::optional<std::size_t> welcome_bytes(std::span<const std::byte> prefix);
/// nothing: the server does not know the secret.
std::optional<Welcome> decode_welcome(const Secret& secret, const Nonce& server_nonce,
                                      const Nonce& client_nonce, std::span<const std::byte> bytes);

}  // namespace gyre::transport
