#include "base/hmac.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>

namespace gyre {

Result<Mac> hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  Mac mac;
  unsigned int written = 0;
  const auto* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                          reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                          reinterpret_cast<unsigned char*>(mac.data()), &written);
  if (!made || written != mac.size())
    return Status(Code::system,
                  "libcrypto computed no HMAC-SHA-256: out of memory, or its configuration "
                  "(openssl.cnf) disables SHA-256");
  return mac;
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Status fill_random(std::span<std::byte> into) {
  // Up to 256 bytes come whole and uninterrupted once the kernel's pool is ready; before that a
  // signal can interrupt the wait.
  if (into.size() > 256)
    return Status(Code::internal, "fill_random: more than 256 bytes asked for");
  for (;;) {
    const ssize_t got = ::getrandom(into.data(), into.size(), 0);
    if (got == static_cast<ssize_t>(into.size())) return {};
    if (got >= 0 || errno != EINTR) return system_error("getrandom", got >= 0 ? EIO : errno);
  }
}

}  // namespace gyre
