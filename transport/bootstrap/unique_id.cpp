#include "transport/bootstrap/unique_id.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/codec.hpp"
#include "base/hmac.hpp"

namespace gyre::transport {
namespace {

constexpr std::uint32_t magic = 0x64697967;  // "gyid"
constexpr std::uint8_t version = 1;
constexpr std::size_t checksum_bytes = 8;
constexpr std::size_t checked_bytes = UniqueId::encoded_bytes - checksum_bytes;

/// The first bytes of a MAC under the empty key: any copy that is cut or mixed up shows.
Result<Mac> checksum(std::span<const std::byte> bytes) {
  static constexpr std::byte no_key[1] = {};
  return hmac_sha256(std::span(no_key).first(0), bytes.first(checked_bytes));
}

bool checksum_matches(const Mac& mac, std::span<const std::byte> bytes) {
  return std::ranges::equal(std::span(mac).first(checksum_bytes),
                            bytes.subspan(checked_bytes, checksum_bytes));
}

Status damaged(std::string_view how) {
  return Status(Code::invalid_argument,
                fmt::format("the unique id {}; pass all {} bytes of gyre_unique_id unchanged from "
                            "rank 0 to every rank",
                            how, UniqueId::encoded_bytes));
}

}  // namespace

std::string text_of(const InternetAddress& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  const bool v6 = address.family == InternetAddress::Family::v6;
  ::inet_ntop(v6 ? AF_INET6 : AF_INET, address.address.data(), text, sizeof text);
  return v6 ? fmt::format("[{}]:{}", text, address.port) : fmt::format("{}:{}", text, address.port);
}

Result<UniqueId::Encoded> UniqueId::encode() const {
  Encoded encoded = {};
  Writer writer{std::span(encoded).first(checked_bytes)};
  writer.u32(magic);
  writer.u8(version);
  writer.u8(static_cast<std::uint8_t>(address.family));
  writer.u16(address.port);
  writer.u32(address.scope);
  writer.bytes(address.address);
  writer.u64(job_nonce);
  writer.bytes(secret);
  auto mac = checksum(encoded);
  if (!mac) return mac.status();
  std::copy_n(mac->begin(), checksum_bytes, encoded.begin() + checked_bytes);
  return encoded;
}

Result<UniqueId> UniqueId::decode(std::span<const std::byte> bytes) {
  if (bytes.size() != encoded_bytes)
    return damaged(fmt::format("has {} bytes instead of {}", bytes.size(), encoded_bytes));
  Reader reader(bytes.first(checked_bytes));
  if (reader.u32() != magic) return damaged("is not one that gyre has made");
  const auto mac = checksum(bytes);
  if (!mac) return mac.status();
  if (!checksum_matches(*mac, bytes)) return damaged("is damaged (its checksum is wrong)");
  if (const int found = reader.u8(); found != version)
    return Status(Code::invalid_argument,
                  fmt::format("the unique id has version {}, this build of gyre knows {}; run the "
                              "same build of gyre on every rank",
                              found, version));
  UniqueId id;
  id.address.family = static_cast<InternetAddress::Family>(reader.u8());
  id.address.port = reader.u16();
  id.address.scope = reader.u32();
  id.address.address = reader.array<16>();
  id.job_nonce = reader.u64();
  id.secret = reader.array<secret_bytes>();
  const bool known_family = id.address.family == InternetAddress::Family::v4 ||
                            id.address.family == InternetAddress::Family::v6;
  if (!reader.ok() || !known_family) return damaged("names no address");
  return id;
}

std::string UniqueId::text() const {
  return fmt::format("job {:016x} at {}", job_nonce, text_of(address));
}

}  // namespace gyre::transport
