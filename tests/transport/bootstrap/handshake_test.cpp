#include "transport/bootstrap/handshake.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "base/random.hpp"

using namespace gyre;
using namespace gyre::transport;

namespace {

template <typename T>
T filled(int value) {
  T bytes;
  bytes.fill(static_cast<std::byte>(value));
  return bytes;
}

const Secret secret = filled<Secret>(0x42);
const Nonce server = filled<Nonce>(1);

Hello example() {
  Hello hello;
  hello.build = build_version();
  hello.job_nonce = 77;
  hello.rank = 3;
  hello.size = 8;
  hello.timeout_ms = 30'000;
  hello.client_nonce = filled<Nonce>(2);
  return hello;
}

void refuse_mutated(int rounds) {
  const auto original = *encode_hello(secret, server, example());
  Random random(20'240'601);
  for (int round = 0; round < rounds; ++round) {
    auto bytes = original;
    const auto changes = 1 + random.below(8);
    for (std::uint64_t i = 0; i < changes; ++i)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    if (random.chance(1, 4)) bytes.resize(random.below(Hello::bytes_max + 1));
    if (bytes == original) continue;
    if (bytes.size() >= Hello::prefix_bytes)
      (void)hello_bytes(std::span(bytes).first(Hello::prefix_bytes));
    REQUIRE_FALSE(decode_hello(secret, server, bytes));
    (void)decode_welcome(secret, server, server, bytes);
    (void)decode_challenge(bytes);
  }
}

}  // namespace

TEST_CASE("an authentic hello is read as it was written") {
  const auto bytes = *encode_hello(secret, server, example());
  CHECK(bytes.size() <= Hello::bytes_max);
  CHECK(hello_bytes(std::span(bytes).first(Hello::prefix_bytes)) == bytes.size());
  const auto hello = decode_hello(secret, server, bytes);
  REQUIRE(hello);
  CHECK(hello->job_nonce == 77);
  CHECK(hello->rank == 3);
  CHECK(hello->size == 8);
  CHECK(hello->timeout_ms == 30'000);
  CHECK(hello->build == build_version());
}

TEST_CASE("a hello proves nothing under another secret, nonce, or with any bit changed") {
  const auto bytes = *encode_hello(secret, server, example());
  CHECK_FALSE(decode_hello(filled<Secret>(0x43), server, bytes));
  CHECK_FALSE(decode_hello(secret, filled<Nonce>(9), bytes));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto changed = bytes;
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    CHECK_FALSE(decode_hello(secret, server, changed));
  }
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(decode_hello(secret, server, std::span(bytes).first(length)));
}

TEST_CASE("a hello of another protocol is still known to be authentic") {
  Hello hello = example();
  hello.protocol = protocol_version + 1;
  const auto decoded = decode_hello(secret, server, *encode_hello(secret, server, hello));
  REQUIRE(decoded);
  CHECK(decoded->protocol == protocol_version + 1);
}

TEST_CASE("a welcome proves the server's knowledge of secret and nonces") {
  const Nonce client = filled<Nonce>(2);
  const auto bytes = *encode_welcome(secret, server, client, {Code::refused, "rank 3 is here"});
  CHECK(welcome_bytes(std::span(bytes).first(Welcome::prefix_bytes)) == bytes.size());
  const auto welcome = decode_welcome(secret, server, client, bytes);
  REQUIRE(welcome);
  CHECK(welcome->code == Code::refused);
  CHECK(welcome->refusal == "rank 3 is here");
  CHECK_FALSE(decode_welcome(filled<Secret>(1), server, client, bytes));
  CHECK_FALSE(decode_welcome(secret, client, server, bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= std::byte{0x80};
    CHECK_FALSE(decode_welcome(secret, server, client, changed));
  }
}

TEST_CASE("a refusal too long for a welcome is cut") {
  const std::string text(10'000, 'x');
  const auto bytes = *encode_welcome(secret, server, server, {Code::refused, text});
  CHECK(bytes.size() == Welcome::bytes_max);
  CHECK(decode_welcome(secret, server, server, bytes)->refusal.size() > 400);
}

TEST_CASE("a hello is no welcome and the other way round") {
  const auto hello = *encode_hello(secret, server, example());
  CHECK_FALSE(decode_welcome(secret, server, example().client_nonce, hello));
  const auto welcome = *encode_welcome(secret, server, example().client_nonce, {});
  CHECK_FALSE(decode_hello(secret, server, welcome));
}

TEST_CASE("a challenge is read as it was written, and nothing else is one") {
  const auto bytes = encode_challenge(server);
  CHECK(decode_challenge(bytes) == server);
  CHECK_FALSE(decode_challenge(std::span(bytes).first(challenge_bytes - 1)));
  auto changed = bytes;
  changed[0] ^= std::byte{1};
  CHECK_FALSE(decode_challenge(changed));
}

TEST_CASE("mutated hellos are refused and never crash") { refuse_mutated(10'000); }

TEST_CASE("a million mutated hellos are refused and never crash", "[.long]") {
  refuse_mutated(1'000'000);
}
