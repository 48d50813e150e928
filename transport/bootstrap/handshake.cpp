#include "transport/bootstrap/handshake.hpp"

#include <string_view>

#include "base/codec.hpp"
#include "base/hmac.hpp"

namespace gyre::transport {
namespace {

constexpr std::uint32_t challenge_magic = 0x63797267;  // "gryc"
constexpr std::uint32_t hello_magic = 0x68797267;      // "gryh"
constexpr std::uint32_t welcome_magic = 0x77797267;    // "gryw"

// Every version keeps these two rules, so that versions can tell each other apart: a hello begins
// with magic, protocol, size and client nonce, and its last bytes are the MAC over all before.
constexpr std::size_t hello_bytes_min = Hello::prefix_bytes + sizeof(Nonce) + mac_bytes;
constexpr std::size_t hello_bytes_now = hello_bytes_min + 1 + 4 + 8 + 4 + 4 + 4;
static_assert(hello_bytes_now <= Hello::bytes_max);

constexpr std::size_t welcome_bytes_min = Welcome::prefix_bytes + 1 + 2 + mac_bytes;

Result<Mac> mac_of(const Secret& secret, std::string_view label, const Nonce& server_nonce,
                   const Nonce& client_nonce, std::span<const std::byte> body) {
  std::array<std::byte, 16 + 2 * sizeof(Nonce) + Welcome::bytes_max> buffer;
  Writer writer(buffer);
  writer.text(label, 14);  // keeps a proof of one kind from passing as another
  writer.bytes(server_nonce);
  writer.bytes(client_nonce);
  writer.bytes(body);
  if (!writer.ok()) return Status(Code::internal, "handshake message exceeds its limit");
  return hmac_sha256(secret, writer.written());
}

constexpr std::string_view hello_label = "gyre hello";
constexpr std::string_view welcome_label = "gyre welcome";

/// Bytes of the message that begins with `prefix`, if magic and size can be right.
std::optional<std::size_t> message_bytes(std::span<const std::byte> prefix, std::uint32_t magic,
                                         std::size_t bytes_min, std::size_t bytes_max) {
  Reader reader(prefix);
  const std::uint32_t found = reader.u32();
  reader.u16();  // protocol
  const std::size_t bytes = reader.u16();
  if (!reader.ok() || found != magic || bytes < bytes_min || bytes > bytes_max) return {};
  return bytes;
}

/// Appends the MAC to a message whose last mac_bytes are still free.
Status seal(std::vector<std::byte>& message, const Secret& secret, std::string_view label,
            const Nonce& server_nonce, const Nonce& client_nonce) {
  const auto body = std::span(message).first(message.size() - mac_bytes);
  const auto mac = mac_of(secret, label, server_nonce, client_nonce, body);
  if (!mac) return mac.status();
  Writer writer{std::span(message).last(mac_bytes)};
  writer.bytes(*mac);
  return {};
}

bool is_authentic(std::span<const std::byte> message, const Secret& secret, std::string_view label,
                  const Nonce& server_nonce, const Nonce& client_nonce) {
  const auto mac =
      mac_of(secret, label, server_nonce, client_nonce, message.first(message.size() - mac_bytes));
  return mac.ok() && equal_in_constant_time(*mac, message.last(mac_bytes));
}

}  // namespace

std::uint32_t build_version() {
  return GYRE_VERSION_MAJOR << 16 | GYRE_VERSION_MINOR << 8 | GYRE_VERSION_PATCH;
}

std::array<std::byte, challenge_bytes> encode_challenge(const Nonce& server_nonce) {
  std::array<std::byte, challenge_bytes> bytes = {};
  Writer writer(bytes);
  writer.u32(challenge_magic);
  writer.u16(protocol_version);
  writer.u16(0);
  writer.bytes(server_nonce);
  return bytes;
}

std::optional<Nonce> decode_challenge(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  const std::uint32_t magic = reader.u32();
  reader.u16();  // whoever differs is told in the welcome, with proof
  reader.u16();
  const Nonce nonce = reader.array<sizeof(Nonce)>();
  if (!reader.finished() || magic != challenge_magic) return {};
  return nonce;
}

Result<std::vector<std::byte>> encode_hello(const Secret& secret, const Nonce& server_nonce,
                                            const Hello& hello) {
  std::vector<std::byte> message(hello_bytes_now);
  Writer writer{std::span(message).first(hello_bytes_now - mac_bytes)};
  writer.u32(hello_magic);
  writer.u16(hello.protocol);
  writer.u16(static_cast<std::uint16_t>(message.size()));
  writer.bytes(hello.client_nonce);
  writer.u8(static_cast<std::uint8_t>(hello.purpose));
  writer.u32(hello.build);
  writer.u64(hello.job_nonce);
  writer.i32(hello.rank);
  writer.i32(hello.size);
  writer.u32(hello.timeout_ms);
  if (auto status = seal(message, secret, hello_label, server_nonce, hello.client_nonce); !status)
    return status;
  return message;
}

std::optional<std::size_t> hello_bytes(std::span<const std::byte> prefix) {
  return message_bytes(prefix, hello_magic, hello_bytes_min, Hello::bytes_max);
}

std::optional<Hello> decode_hello(const Secret& secret, const Nonce& server_nonce,
                                  std::span<const std::byte> bytes) {
  if (bytes.size() < hello_bytes_min ||
      hello_bytes(bytes.first(Hello::prefix_bytes)) != bytes.size())
    return {};
  Reader reader(bytes.first(bytes.size() - mac_bytes));
  Hello hello;
  reader.u32();  // magic and size were checked
  hello.protocol = reader.u16();
  reader.u16();
  hello.client_nonce = reader.array<sizeof(Nonce)>();
  if (!is_authentic(bytes, secret, hello_label, server_nonce, hello.client_nonce)) return {};
  if (hello.protocol != protocol_version) return hello;
  hello.purpose = static_cast<Purpose>(reader.u8());
  hello.build = reader.u32();
  hello.job_nonce = reader.u64();
  hello.rank = reader.i32();
  hello.size = reader.i32();
  hello.timeout_ms = reader.u32();
  if (!reader.finished()) return {};
  return hello;
}

Result<std::vector<std::byte>> encode_welcome(const Secret& secret, const Nonce& server_nonce,
                                              const Nonce& client_nonce, const Welcome& welcome) {
  const std::size_t text_bytes =
      std::min(welcome.refusal.size(), Welcome::bytes_max - welcome_bytes_min);
  std::vector<std::byte> message(welcome_bytes_min + text_bytes);
  Writer writer{std::span(message).first(message.size() - mac_bytes)};
  writer.u32(welcome_magic);
  writer.u16(protocol_version);
  writer.u16(static_cast<std::uint16_t>(message.size()));
  writer.u8(static_cast<std::uint8_t>(welcome.code));
  writer.text(welcome.refusal, text_bytes);
  if (auto status = seal(message, secret, welcome_label, server_nonce, client_nonce); !status)
    return status;
  return message;
}

std::optional<std::size_t> welcome_bytes(std::span<const std::byte> prefix) {
  return message_bytes(prefix, welcome_magic, welcome_bytes_min, Welcome::bytes_max);
}

std::optional<Welcome> decode_welcome(const Secret& secret, const Nonce& server_nonce,
                                      const Nonce& client_nonce, std::span<const std::byte> bytes) {
  if (bytes.size() < welcome_bytes_min ||
      welcome_bytes(bytes.first(Welcome::prefix_bytes)) != bytes.size())
    return {};
  if (!is_authentic(bytes, secret, welcome_label, server_nonce, client_nonce)) return {};
  Reader reader(bytes.first(bytes.size() - mac_bytes));
  reader.bytes(Welcome::prefix_bytes);
  Welcome welcome;
  const std::uint8_t code = reader.u8();
  welcome.refusal = reader.text(Welcome::bytes_max);
  if (!reader.finished() || code > static_cast<std::uint8_t>(Code::internal)) return {};
  welcome.code = static_cast<Code>(code);
  return welcome;
}

}  // namespace gyre::transport
