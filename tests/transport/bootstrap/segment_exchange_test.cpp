#include "transport/bootstrap/segment_exchange.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <fstream>

#include "tests/transport/bootstrap/harness.hpp"

using namespace gyre;
using namespace gyre::transport;
using test::eventually;
using State = SegmentLookup::State;

namespace {

constexpr std::size_t page = 4096;

/// Memory that a process may export.
struct Memory {
  explicit Memory(std::size_t bytes = page)
      : fd(std::move(*make_sealed_memory("gyre-test", bytes))),
        mapping(std::move(*SharedMapping::of(fd.get(), 0, bytes))) {}
  SegmentExchange::Export whole() const { return {fd.get(), 0, mapping.data(), mapping.bytes()}; }

  UniqueFd fd;
  SharedMapping mapping;
};

/// Two processes' worth of exchange.
struct Pair {
  std::unique_ptr<ControlThread> control = test::start_control();
  std::unique_ptr<SegmentExchange> owner = std::move(*SegmentExchange::start(*control));
  std::unique_ptr<SegmentExchange> user = std::move(*SegmentExchange::start(*control));
};

SegmentLookup answer(SegmentExchange& exchange, const ExchangeAddress& owner, SegmentName name) {
  SegmentLookup lookup;
  eventually([&] {
    lookup = exchange.lookup(owner, name);
    return lookup.state != State::pending;
  });
  return lookup;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a segment is fetched in the background and is the owner's memory") {
  Pair pair;
  Memory memory(3 * page);
  const auto name = pair.owner->add(memory.whole());
  REQUIRE(name.ok());
  std::atomic<int> progress = 0;
  const auto number = pair.user->on_progress([&] { ++progress; });
  CHECK(pair.user->lookup(pair.owner->address(), *name).state == State::pending);
  REQUIRE(eventually([&] { return progress == 1; }));
  const auto lookup = pair.user->lookup(pair.owner->address(), *name);
  REQUIRE(lookup.state == State::ready);
  CHECK(lookup.mapping->bytes() == 3 * page);
  CHECK(lookup.mapping->data() != memory.mapping.data());
  memory.mapping.data()[2 * page] = std::byte{0x77};
  CHECK(lookup.mapping->data()[2 * page] == std::byte{0x77});
  pair.user->stop_progress(number);
}

TEST_CASE("a range of a registered memfd is mapped from its offset") {
  Pair pair;
  Memory memory(4 * page);
  const auto name =
      pair.owner->add({memory.fd.get(), 2 * page, memory.mapping.data() + 2 * page, page});
  REQUIRE(name.ok());
  memory.mapping.data()[2 * page + 5] = std::byte{9};
  const auto lookup = answer(*pair.user, pair.owner->address(), *name);
  REQUIRE(lookup.state == State::ready);
  CHECK(lookup.mapping->bytes() == page);
  CHECK(lookup.mapping->data()[5] == std::byte{9});
}

TEST_CASE("threads of one process share the owner's own mapping") {
  Pair pair;
  Memory memory;
  const auto name = pair.owner->add(memory.whole());
  const auto lookup = pair.owner->lookup(pair.owner->address(), *name);
  REQUIRE(lookup.state == State::ready);
  CHECK(lookup.mapping->data() == memory.mapping.data());
  pair.owner->withdraw(*name);
  CHECK(lookup.mapping->withdrawn());
  CHECK(pair.owner->lookup(pair.owner->address(), *name).state == State::refused);
}

TEST_CASE("a withdrawn segment is unmapped once its last user lets go") {
  Pair pair;
  Memory memory;
  const auto name = pair.owner->add(memory.whole());
  auto held = answer(*pair.user, pair.owner->address(), *name).mapping;
  REQUIRE(held);
  std::weak_ptr<const MappedSegment> watcher = held;
  memory.mapping.data()[0] = std::byte{3};
  pair.owner->withdraw(*name);
  REQUIRE(eventually([&] { return held->withdrawn(); }));
  CHECK(held->data()[0] == std::byte{3});  // still mapped
  held.reset();
  CHECK(eventually([&] { return watcher.expired(); }));
  const auto again = answer(*pair.user, pair.owner->address(), *name);
  CHECK(again.state == State::refused);
  CHECK(has(again.reason, "no such segment, or no longer"));
}

TEST_CASE("a number that is used again has another generation") {
  Pair pair;
  Memory first, second;
  const auto old_name = pair.owner->add(first.whole());
  pair.owner->withdraw(*old_name);
  const auto new_name = pair.owner->add(second.whole());
  CHECK(new_name->segment == old_name->segment);
  CHECK(new_name->generation != old_name->generation);
  CHECK(answer(*pair.user, pair.owner->address(), *old_name).state == State::refused);
  CHECK(answer(*pair.user, pair.owner->address(), *new_name).state == State::ready);
  pair.owner->withdraw(*old_name);  // ignored: that name is no more
  CHECK(answer(*pair.owner, pair.owner->address(), *new_name).state == State::ready);
}

TEST_CASE("a wrong key, an unknown number and an absent owner are refused with a reason") {
  Pair pair;
  Memory memory;
  const auto name = pair.owner->add(memory.whole());
  ExchangeAddress wrong = pair.owner->address();
  wrong.key[3] ^= std::byte{1};
  const auto forged = answer(*pair.user, wrong, *name);
  CHECK(forged.state == State::refused);
  CHECK(has(forged.reason, "secret"));
  for (const SegmentName unknown : {SegmentName{0, 1}, SegmentName{99, 1}, SegmentName{1, 0}})
    CHECK(answer(*pair.user, pair.owner->address(), unknown).state == State::refused);
  ExchangeAddress absent = pair.owner->address();
  absent.name[0] ^= std::byte{1};
  CHECK(has(answer(*pair.user, absent, *name).reason, "nobody listens"));
  // None of that has harmed an honest user.
  CHECK(answer(*pair.user, pair.owner->address(), *name).state == State::ready);
}

TEST_CASE("what can't be shared is refused where it is offered") {
  Pair pair;
  Memory memory(2 * page);
  std::byte* data = memory.mapping.data();
  const auto code = [&](const SegmentExchange::Export& segment) {
    return pair.owner->add(segment).status().code();
  };
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK(code({null.get(), 0, data, page}) == Code::invalid_argument);
  CHECK(code({-1, 0, data, page}) == Code::invalid_argument);
  CHECK(code({memory.fd.get(), 100, data, page}) == Code::invalid_argument);
  CHECK(code({memory.fd.get(), 0, data, 0}) == Code::invalid_argument);
  CHECK(code({memory.fd.get(), 0, nullptr, page}) == Code::invalid_argument);
  CHECK(code({memory.fd.get(), page, data, 2 * page}) == Code::invalid_argument);
  CHECK(code({memory.fd.get(), 16 * page, data, page}) == Code::invalid_argument);
}

TEST_CASE("a memfd that was shrunk after it was offered is refused by the importer") {
  Pair pair;
  const UniqueFd unsealed(::memfd_create("gyre-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.get(), 2 * page) == 0);
  const auto mapping = SharedMapping::of(unsealed.get(), 0, 2 * page);
  const auto name = pair.owner->add({unsealed.get(), 0, mapping->data(), 2 * page});
  REQUIRE(name.ok());
  REQUIRE(::ftruncate(unsealed.get(), page) == 0);
  CHECK(has(answer(*pair.user, pair.owner->address(), *name).reason, "smaller"));
}

TEST_CASE("when the owner goes its segments are withdrawn and those on their way refused") {
  Pair pair;
  Memory memory;
  const auto address = pair.owner->address();
  const auto name = pair.owner->add(memory.whole());
  const auto held = answer(*pair.user, address, *name).mapping;
  REQUIRE(held);
  pair.owner.reset();
  REQUIRE(eventually([&] { return held->withdrawn(); }));
  CHECK(answer(*pair.user, address, *name).state == State::refused);
}

TEST_CASE("the cache of mappings and the table of exports are bounded") {
  Pair pair;
  Memory memory;
  std::vector<SegmentName> names;
  for (std::size_t i = 0; i < SegmentExchange::imports_max + 50; ++i)
    names.push_back(*pair.owner->add(memory.whole()));
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      if (line.find("gyre-test") != std::string::npos) ++count;
    return count;
  };
  const auto first = answer(*pair.user, pair.owner->address(), names[0]).mapping;
  for (const SegmentName name : names)
    REQUIRE(answer(*pair.user, pair.owner->address(), name).state == State::ready);
  // The kernel merges nothing here: each mapping is one line, and the owner has one.
  CHECK(mappings() <= static_cast<int>(SegmentExchange::imports_max) + 2);
  CHECK(first->data()[0] == std::byte{0});  // evicted, but held
  while (names.size() < SegmentExchange::exports_max)
    names.push_back(*pair.owner->add(memory.whole()));
  CHECK(pair.owner->add(memory.whole()).status().code() == Code::out_of_resources);
  pair.owner->withdraw(names[7]);
  CHECK(pair.owner->add(memory.whole()).ok());
}

TEST_CASE("a segment of another process is mapped, and its death withdraws it") {
  test::Pipe from_child;
  test::Child child([&] {
    auto control = test::start_control();
    auto exchange = std::move(*SegmentExchange::start(*control));
    Memory memory;
    std::strcpy(reinterpret_cast<char*>(memory.mapping.data()), "from another process");
    const auto name = exchange->add(memory.whole());
    struct {
      std::array<std::byte, ExchangeAddress::encoded_bytes> address;
      SegmentName name;
    } message = {exchange->address().encode(), *name};
    std::ignore = ::write(from_child.write.get(), &message, sizeof message);
    test::sleep_ms(60'000);
    return 0;
  });
  struct {
    std::array<std::byte, ExchangeAddress::encoded_bytes> address;
    SegmentName name;
  } message;
  REQUIRE(::read(from_child.read.get(), &message, sizeof message) == sizeof message);
  auto control = test::start_control();
  auto exchange = std::move(*SegmentExchange::start(*control));
  const auto address = *ExchangeAddress::decode(message.address);
  const auto lookup = answer(*exchange, address, message.name);
  REQUIRE(lookup.state == State::ready);
  CHECK(std::strcmp(reinterpret_cast<const char*>(lookup.mapping->data()),
                    "from another process") == 0);
  child.kill(SIGKILL);
  CHECK(eventually([&] { return lookup.mapping->withdrawn(); }));
}

TEST_CASE("another user's process gets nothing, even with the key") {
  if (::geteuid() != 0) SKIP("only root can become another user");
  test::Pipe to_child;
  test::Child child([&] {
    if (::setresuid(65'534, 65'534, 65'534) != 0) return 3;
    std::array<std::byte, ExchangeAddress::encoded_bytes> address;
    if (::read(to_child.read.get(), address.data(), address.size()) < 0) return 3;
    auto control = test::start_control();
    auto exchange = std::move(*SegmentExchange::start(*control));
    const auto lookup = answer(*exchange, *ExchangeAddress::decode(address), {1, 1});
    if (lookup.state != State::refused) return 1;
    return has(lookup.reason, "belongs to user 0, this one to user 65534") ? 0 : 2;
  });
  Pair pair;
  Memory memory;
  REQUIRE(pair.owner->add(memory.whole()).ok());
  const auto address = pair.owner->address().encode();
  REQUIRE(::write(to_child.write.get(), address.data(), address.size()) > 0);
  CHECK(child.wait() == 0);
}

TEST_CASE("a server lets no other user's process through its door") {
  if (::geteuid() != 0) SKIP("only root can become another user");
  test::Pipe to_child;
  test::Child child([&] {
    AbstractName name;
    if (::setresuid(65'534, 65'534, 65'534) != 0) return 3;
    if (::read(to_child.read.get(), name.data(), name.size()) < 0) return 3;
    const UniqueFd socket = test::connect_raw(name);  // a client that checks nothing
    return test::read_raw(socket.get(), 1).empty() ? 0 : 1;
  });
  Pair pair;
  const AbstractName name = pair.owner->address().name;
  REQUIRE(::write(to_child.write.get(), name.data(), name.size()) > 0);
  CHECK(child.wait() == 0);
}

TEST_CASE("exchanging segments leaves no descriptor behind") {
  const auto round = [] {
    Pair pair;
    Memory memory;
    const auto name = pair.owner->add(memory.whole());
    return answer(*pair.user, pair.owner->address(), *name).state == State::ready;
  };
  REQUIRE(round());
  const int before = test::count_descriptors();
  for (int i = 0; i < 10; ++i) REQUIRE(round());
  CHECK(test::count_descriptors() == before);
}

TEST_CASE("an exchange address survives encoding and nothing shorter or longer is one") {
  Pair pair;
  const auto bytes = pair.owner->address().encode();
  CHECK(*ExchangeAddress::decode(bytes) == pair.owner->address());
  CHECK_FALSE(ExchangeAddress::decode(std::span(bytes).first(31)).ok());
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.push_back({});
  CHECK_FALSE(ExchangeAddress::decode(longer).ok());
}
