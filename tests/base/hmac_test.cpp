#include "base/hmac.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
  }
  return text;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("the HMAC is that of RFC 4231") {
  const std::vector<std::byte> key(20, std::byte{0x0b});
  const auto first = gyre::hmac_sha256(key, bytes_of("Hi There"));
  REQUIRE(first.ok());
  CHECK(hex(*first) == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");

  const auto second = gyre::hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"));
  REQUIRE(second.ok());
  CHECK(hex(*second) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_CASE("comparison sees every byte and the length") {
  std::vector<std::byte> a(32, std::byte{7});
  std::vector<std::byte> b = a;
  CHECK(gyre::equal_in_constant_time(a, b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    b = a;
    b[i] ^= std::byte{1};
    CHECK_FALSE(gyre::equal_in_constant_time(a, b));
  }
  CHECK_FALSE(gyre::equal_in_constant_time(a, std::span(a).first(31)));
}

TEST_CASE("random bytes differ from call to call, and the limit holds") {
  std::vector<std::byte> a(16), b(16), many(257);
  REQUIRE(gyre::fill_random(a).ok());
  REQUIRE(gyre::fill_random(b).ok());
  CHECK(a != b);
  CHECK(gyre::fill_random(many).code() == gyre::Code::internal);
}
