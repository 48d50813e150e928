// Connections to rank 0's port that are not ours: they stop nobody and leave nothing.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "base/random.hpp"
#include "tests/transport/bootstrap/harness.hpp"
#include "transport/bootstrap/acceptor.hpp"
#include "transport/bootstrap/handshake.hpp"
#include "transport/bootstrap/messages.hpp"

using namespace gyre;
using namespace gyre::transport;
using test::eventually;
using test::soon;

namespace {

/// Two ranks join through `listener`; whether both did.
bool two_join(ControlThread& control, std::unique_ptr<Listener> listener) {
  const UniqueId id = listener->id();
  bool joined[2] = {};
  std::vector<std::thread> threads;
  for (const int rank : {0, 1})
    threads.emplace_back([&, rank] {
      auto group =
          test::join(control, id, rank, 2, soon(), rank == 0 ? std::move(listener) : nullptr);
      joined[rank] = group.ok();
      if (group.ok()) (*group)->goodbye();
    });
  for (auto& thread : threads) thread.join();
  return joined[0] && joined[1];
}

Hello hello_of(const UniqueId& id) {
  Hello hello;
  hello.build = build_version();
  hello.job_nonce = id.job_nonce;
  hello.rank = 1;
  hello.size = 2;
  hello.timeout_ms = 10'000;
  return hello;
}

/// Plays a client up to its hello and reads what comes back.
std::optional<Welcome> answer_to(const UniqueId& id, const Hello& hello) {
  const UniqueFd socket = test::connect_raw(id.address);
  const auto nonce = decode_challenge(test::read_raw(socket.get(), challenge_bytes));
  if (!nonce) return {};
  test::write_raw(socket.get(), *encode_hello(id.secret, *nonce, hello));
  auto bytes = test::read_raw(socket.get(), Welcome::prefix_bytes);
  const auto total = welcome_bytes(bytes);
  if (!total) return {};
  const auto rest = test::read_raw(socket.get(), *total - bytes.size());
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return decode_welcome(id.secret, *nonce, hello.client_nonce, bytes);
}

}  // namespace

TEST_CASE("a thousand strangers delay nobody and leave no descriptor") {
  auto control = test::start_control();
  const int before = test::count_descriptors();
  {
    auto listener = test::open_listener(*control);
    const UniqueId id = listener->id();
    std::vector<UniqueFd> silent;
    Random random(1);
    for (int i = 0; i < 1'000; ++i) {
      UniqueFd stranger = test::connect_raw(id.address);
      if (!stranger) continue;
      std::vector<std::byte> garbage(random.below(300));
      for (auto& byte : garbage) byte = static_cast<std::byte>(random.below(256));
      if (i % 3 == 0) test::write_raw(stranger.get(), garbage);  // garbage, and gone
      if (i % 3 == 1) silent.push_back(std::move(stranger));     // silence
      if (silent.size() > 200) silent.erase(silent.begin());
    }
    CHECK(two_join(*control, std::move(listener)));
  }
  CHECK(eventually([&] { return test::count_descriptors() == before; }));
}

TEST_CASE("strangers keep coming while ranks join") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  std::atomic<bool> stop = false;
  std::vector<std::thread> strangers;
  for (int t = 0; t < 3; ++t)
    strangers.emplace_back([&] {
      std::vector<UniqueFd> held;
      while (!stop) {
        held.push_back(test::connect_raw(id.address));
        if (held.size() > 100) held.erase(held.begin());
        test::sleep_ms(1);
      }
    });
  test::sleep_ms(20);
  CHECK(two_join(*control, std::move(listener)));
  stop = true;
  for (auto& stranger : strangers) stranger.join();
}

TEST_CASE("at most strangers_max connections wait at the door, and none for long") {
  auto control = test::start_control();
  const int before = test::count_descriptors();
  auto listener = test::open_listener(*control);
  const int listening = test::count_descriptors();
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i < Acceptor::strangers_max + 20; ++i)
    silent.push_back(test::connect_raw(listener->id().address));
  const auto held_by_door = [&] {
    return test::count_descriptors() - listening - static_cast<int>(silent.size());
  };
  CHECK(eventually([&] { return held_by_door() == static_cast<int>(Acceptor::strangers_max); }));
  // Slow-loris: a byte now and then of a hello buys no time.
  const Deadline end = soon(Acceptor::budget_ns / nanoseconds_per_ms + 1'000);
  while (!end.passed(monotonic_now()) && held_by_door() > 0) {
    test::write_raw(silent.back().get(), std::vector<std::byte>(1, std::byte{0x67}));
    test::sleep_ms(100);
  }
  CHECK(held_by_door() == 0);
  silent.clear();
  CHECK(two_join(*control, std::move(listener)));
  CHECK(eventually([&] { return test::count_descriptors() == before; }));
}

TEST_CASE("a hello that comes byte by byte within its budget is accepted") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  UniqueFd socket = test::connect_raw(id.address);
  const auto nonce = decode_challenge(test::read_raw(socket.get(), challenge_bytes));
  REQUIRE(nonce);
  const auto hello = *encode_hello(id.secret, *nonce, hello_of(id));
  for (const std::byte byte : hello) {
    test::write_raw(socket.get(), std::span(&byte, 1));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  auto group = test::join(*control, id, 0, 2, soon(), std::move(listener));
  CHECK(group.ok());
}

TEST_CASE("mutated hellos are closed without an answer and harm nobody") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const UniqueFd socket = test::connect_raw(id.address);
    const auto nonce = decode_challenge(test::read_raw(socket.get(), challenge_bytes));
    REQUIRE(nonce);
    auto hello = *encode_hello(id.secret, *nonce, hello_of(id));
    hello[random.below(hello.size())] ^= static_cast<std::byte>(1 + random.below(255));
    if (random.chance(1, 3)) hello.resize(random.below(hello.size()));
    test::write_raw(socket.get(), hello);
    ::shutdown(socket.get(), SHUT_WR);
    REQUIRE(test::read_raw(socket.get(), 1).empty());
  }
  CHECK(two_join(*control, std::move(listener)));
}

TEST_CASE("another protocol or build is refused with a reason, once authenticated") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  Hello protocol = hello_of(id);
  protocol.protocol = protocol_version + 1;
  const auto first = answer_to(id, protocol);
  REQUIRE(first);
  CHECK(first->code == Code::refused);
  CHECK(first->refusal.find("speaks protocol 2") != std::string::npos);
  Hello build = hello_of(id);
  build.build = 0x010203;
  const auto second = answer_to(id, build);
  REQUIRE(second);
  CHECK(second->refusal.find("runs gyre 1.2.3") != std::string::npos);
  Hello purpose = hello_of(id);
  purpose.purpose = Purpose::segments;
  CHECK(answer_to(id, purpose)->code == Code::refused);
  CHECK(two_join(*control, std::move(listener)));
}

TEST_CASE("a proof can't be used again: each connection has its own nonce") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  const UniqueFd first = test::connect_raw(id.address);
  const auto nonce = decode_challenge(test::read_raw(first.get(), challenge_bytes));
  const auto overheard = *encode_hello(id.secret, *nonce, hello_of(id));
  const UniqueFd second = test::connect_raw(id.address);
  const auto other = decode_challenge(test::read_raw(second.get(), challenge_bytes));
  CHECK(*nonce != *other);
  test::write_raw(second.get(), overheard);
  CHECK(test::read_raw(second.get(), 1).empty());
}

TEST_CASE("a rank that sends nonsense after it was let in is named") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  std::thread rogue([&] {
    const UniqueFd socket = test::connect_raw(id.address);
    const auto nonce = decode_challenge(test::read_raw(socket.get(), challenge_bytes));
    test::write_raw(socket.get(), *encode_hello(id.secret, *nonce, hello_of(id)));
    test::read_raw(socket.get(), Welcome::prefix_bytes);
    std::vector<std::byte> nonsense(64, std::byte{0xff});
    test::write_raw(socket.get(), nonsense);
    test::read_raw(socket.get(), 100'000);
  });
  auto group = test::join(*control, id, 0, 2, soon(), std::move(listener));
  rogue.join();
  const Status status = group.ok() ? (*group)->all_gather({}, soon()).status() : group.status();
  CHECK(status.code() == Code::peer_failed);
  CHECK(status.rank() == 1);
  CHECK(status.message().find("makes no sense") != std::string::npos);
}

TEST_CASE("the port is closed once all ranks have joined, and only one address was bound") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  InternetAddress elsewhere = id.address;
  elsewhere.address[3] = std::byte{2};  // 127.0.0.2 would answer on the wildcard address
  CHECK(test::connect_raw(id.address));
  CHECK_FALSE(test::connect_raw(elsewhere));
  Result<std::unique_ptr<Group>> one = Status(Code::internal, "not joined");
  std::thread other([&] { one = test::join(*control, id, 1, 2); });
  const auto zero = test::join(*control, id, 0, 2, soon(), std::move(listener));
  other.join();
  REQUIRE((zero.ok() && one.ok()));
  CHECK(eventually([&] { return !test::connect_raw(id.address); }));
}
