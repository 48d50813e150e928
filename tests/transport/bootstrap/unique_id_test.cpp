#include "transport/bootstrap/unique_id.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

using gyre::Code;
using gyre::transport::InternetAddress;
using gyre::transport::UniqueId;

namespace {

UniqueId example() {
  UniqueId id;
  id.address.address = {std::byte{127}, std::byte{0}, std::byte{0}, std::byte{1}};
  id.address.port = 4000;
  id.job_nonce = 0x1122334455667788u;
  id.secret.fill(std::byte{0xa5});
  return id;
}

}  // namespace

TEST_CASE("a unique id survives encoding") {
  UniqueId id = example();
  CHECK(*UniqueId::decode(*id.encode()) == id);
  id.address.family = InternetAddress::Family::v6;
  id.address.scope = 3;
  CHECK(*UniqueId::decode(*id.encode()) == id);
}

TEST_CASE("a unique id with any byte changed is refused") {
  const auto encoded = *example().encode();
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    auto changed = encoded;
    changed[i] ^= std::byte{0x10};
    CHECK(UniqueId::decode(changed).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("a cut or empty unique id is refused and the message says what to do") {
  const auto encoded = *example().encode();
  const auto cut = UniqueId::decode(std::span(encoded).first(100));
  CHECK(cut.status().code() == Code::invalid_argument);
  CHECK(cut.status().message().find("has 100 bytes instead of 128") != std::string::npos);
  const UniqueId::Encoded zeroes = {};
  CHECK(UniqueId::decode(zeroes).status().message().find("is not one that gyre has made") !=
        std::string::npos);
}

TEST_CASE("the text of a unique id names the address and the job, never the secret") {
  CHECK(example().text() == "job 1122334455667788 at 127.0.0.1:4000");
  UniqueId id = example();
  id.address.family = InternetAddress::Family::v6;
  id.address.address = {};
  id.address.address[15] = std::byte{1};
  CHECK(id.text() == "job 1122334455667788 at [::1]:4000");
}
