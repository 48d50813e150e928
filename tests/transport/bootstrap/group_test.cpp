#include "transport/bootstrap/group.hpp"

#include <sys/mman.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <mutex>
#include <string>

#include "base/random.hpp"
#include "tests/transport/bootstrap/harness.hpp"
#include "transport/bootstrap/sealed_memory.hpp"

using namespace gyre;
using namespace gyre::transport;
using test::eventually;
using test::soon;

namespace {

using Groups = std::vector<std::unique_ptr<Group>>;

/// Runs `body` for every rank on a thread of its own.
void on_all(Groups& groups, const std::function<void(Group&)>& body) {
  std::vector<std::thread> threads;
  for (auto& group : groups) threads.emplace_back([&] { body(*group); });
  for (auto& thread : threads) thread.join();
}

/// What the ranks' callbacks have heard.
class Heard {
 public:
  void listen(Group& group) {
    group.watch(
        [this](const GroupFailure& failure) {
          const std::lock_guard lock(mutex_);
          failures_.push_back(failure);
        },
        [this](int rank) {
          const std::lock_guard lock(mutex_);
          departed_.push_back(rank);
        });
  }
  std::vector<GroupFailure> failures() {
    const std::lock_guard lock(mutex_);
    return failures_;
  }
  std::vector<int> departed() {
    const std::lock_guard lock(mutex_);
    return departed_;
  }

 private:
  std::mutex mutex_;
  std::vector<GroupFailure> failures_;
  std::vector<int> departed_;
};

bool mentions(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("1 to 16 ranks join as threads, whatever the order in which they start") {
  const int before = test::count_descriptors();
  const int size = GENERATE(range(1, 17));
  {
    auto control = test::start_control();
    auto order = test::in_order(size);
    Random random(static_cast<std::uint64_t>(size));
    random.shuffle(std::span(order));
    Groups groups = test::join_threads(*control, order);
    for (int rank = 0; rank < size; ++rank) {
      REQUIRE(groups[static_cast<std::size_t>(rank)]);
      CHECK(groups[static_cast<std::size_t>(rank)]->rank() == rank);
      CHECK(groups[static_cast<std::size_t>(rank)]->size() == size);
    }
    for (auto& group : groups) group->goodbye();
  }
  CHECK(test::count_descriptors() == before);
}

TEST_CASE("every rank gets every record, many times, of any length") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(5));
  std::atomic<int> wrong = 0;
  on_all(groups, [&](Group& group) {
    for (std::size_t round = 0; round < 50; ++round) {
      const auto record = [&](int rank) {
        return std::string(
            (round * 97 + static_cast<std::size_t>(rank)) % (Group::record_bytes_max + 1),
            static_cast<char>('a' + rank));
      };
      const auto mine = record(group.rank());
      const auto records = group.all_gather(test::bytes_of(mine), soon());
      if (!records.ok() || records->size() != 5) {
        ++wrong;
        continue;
      }
      for (int rank = 0; rank < 5; ++rank)
        if (test::text_of((*records)[static_cast<std::size_t>(rank)]) != record(rank)) ++wrong;
    }
    group.goodbye();
  });
  CHECK(wrong == 0);
}

TEST_CASE("a record of the greatest length passes and a longer one is refused") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(1));
  std::vector<std::byte> record(Group::record_bytes_max, std::byte{5});
  const auto records = groups[0]->all_gather(record, soon());
  REQUIRE(records.ok());
  CHECK(records->front() == record);
  record.push_back({});
  CHECK(groups[0]->all_gather(record, soon()).status().code() == Code::invalid_argument);
}

TEST_CASE("missing ranks are named at the deadline, on every rank that joined") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  std::vector<Status> results(5);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1, 4})
    threads.emplace_back([&, rank] {
      results[static_cast<std::size_t>(rank)] =
          test::join(*control, id, rank, 5, soon(200), rank == 0 ? std::move(listener) : nullptr)
              .status();
    });
  for (auto& thread : threads) thread.join();
  for (const std::size_t rank : {0u, 1u, 4u}) {
    CHECK(results[rank].code() == Code::timeout);
    CHECK(results[rank].rank() == 2);
    CHECK(mentions(results[rank], "ranks 2, 3 of 5 did not join within "));
  }
}

TEST_CASE("the deadline of the least patient rank counts for all") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  Status patient;
  std::thread rank0([&] {
    patient = test::join(*control, id, 0, 3, soon(60'000), std::move(listener)).status();
  });
  const auto hasty = test::join(*control, id, 1, 3, soon(200)).status();
  rank0.join();
  CHECK(mentions(hasty, "rank 2 of 3 did not join"));
  CHECK(mentions(patient, "rank 2 of 3 did not join"));
}

TEST_CASE("a rank that waits for rank 0 in vain says what rank 0 does") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  const auto silent = test::join(*control, id, 1, 2, soon(150)).status();
  CHECK(silent.code() == Code::timeout);
  CHECK(silent.rank() == 0);
  CHECK(mentions(silent, "has not created the communicator"));
  listener.reset();
  const auto absent = test::join(*control, id, 1, 2, soon(150)).status();
  CHECK(absent.code() == Code::timeout);
  CHECK(mentions(absent, "Connection refused"));
}

TEST_CASE("a rank that gave up before rank 0 came may come again") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  CHECK(test::join(*control, id, 1, 2, soon(50)).status().code() == Code::timeout);
  Status again = Status(Code::internal, "not joined");
  std::thread one([&] {
    const auto group = test::join(*control, id, 1, 2);
    again = group.status();
    if (group.ok()) (*group)->goodbye();
  });
  const auto zero = test::join(*control, id, 0, 2, soon(), std::move(listener));
  one.join();
  CHECK(zero.ok());
  CHECK(again.ok());
}

TEST_CASE("a wrong secret is refused while the others join") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  UniqueId wrong = id;
  wrong.secret[0] ^= std::byte{1};
  std::vector<Status> results(3);
  Groups groups(2);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { results[2] = test::join(*control, wrong, 1, 2).status(); });
  threads[0].join();  // even before rank 0 has joined
  for (const int rank : {0, 1})
    threads.emplace_back([&, rank] {
      auto joined =
          test::join(*control, id, rank, 2, soon(), rank == 0 ? std::move(listener) : nullptr);
      const auto at = static_cast<std::size_t>(rank);
      results[at] = joined.status();
      if (joined.ok()) groups[at] = std::move(*joined);
    });
  threads[1].join();
  threads[2].join();
  CHECK(results[0].ok());
  CHECK(results[1].ok());
  CHECK(results[2].code() == Code::refused);
  CHECK(mentions(results[2], "secret"));
  CHECK_FALSE(mentions(results[2], "a5a5"));
}

TEST_CASE("a second process with the same rank, or another size, is refused with the reason") {
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  Groups groups(3);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1})
    threads.emplace_back([&, rank] {
      auto joined =
          test::join(*control, id, rank, 3, soon(), rank == 0 ? std::move(listener) : nullptr);
      if (joined.ok()) groups[static_cast<std::size_t>(rank)] = std::move(*joined);
    });
  test::sleep_ms(100);
  const auto twice = test::join(*control, id, 1, 3).status();
  CHECK(twice.code() == Code::refused);
  CHECK(mentions(twice, "rank 1 has joined already"));
  const auto size = test::join(*control, id, 2, 4).status();
  CHECK(size.code() == Code::refused);
  CHECK(mentions(size, "there are 4 ranks, rank 0 was told 3"));
  // Neither has harmed the others.
  auto last = test::join(*control, id, 2, 3);
  CHECK(last.ok());
  for (auto& thread : threads) thread.join();
  CHECK(groups[0]);
  CHECK(groups[1]);
}

TEST_CASE("impossible requests are refused at once") {
  auto control = test::start_control();
  const auto code = [&](int rank, int size) {
    return test::join(*control, UniqueId{}, rank, size).status().code();
  };
  CHECK(code(0, 0) == Code::invalid_argument);
  CHECK(code(-1, 2) == Code::invalid_argument);
  CHECK(code(2, 2) == Code::invalid_argument);
  CHECK(code(1, 100'000) == Code::invalid_argument);
  CHECK(code(0, 2) == Code::invalid_argument);  // no listener
  CHECK(test::join(*control, UniqueId{}, 1, 2, soon(), test::open_listener(*control))
            .status()
            .code() == Code::invalid_argument);
}

TEST_CASE("a rank that does not come to an exchange is named at the deadline") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(3));
  std::vector<Status> results(3);
  std::vector<std::thread> threads;
  for (const std::size_t rank : {0u, 2u})
    threads.emplace_back(
        [&, rank] { results[rank] = groups[rank]->all_gather({}, soon(100)).status(); });
  for (auto& thread : threads) thread.join();
  for (const std::size_t rank : {0u, 2u}) {
    CHECK(results[rank].code() == Code::timeout);
    CHECK(results[rank].rank() == 1);
    CHECK(mentions(results[rank], "rank 1 of 3 did not reach the exchange"));
  }
  // The group has failed for the missing one too.
  CHECK(groups[1]->all_gather({}, soon()).status().rank() == 1);
}

TEST_CASE("a failure that one rank reports reaches all, with its words and numbers") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(4));
  std::vector<Heard> heard(4);
  for (std::size_t rank = 0; rank < 4; ++rank) heard[rank].listen(*groups[rank]);
  const int reporter = GENERATE(0, 3);
  GroupFailure failure;
  failure.what.code = Code::mismatch;
  failure.what.rank = 2;
  failure.what.sequence = 41;
  failure.what.header[1][0] = 0xfeed;
  failure.text = "ranks disagree";
  groups[static_cast<std::size_t>(reporter)]->report(failure);
  for (auto& each : heard) {
    REQUIRE(eventually([&] { return !each.failures().empty(); }));
    const auto first = each.failures().front();
    CHECK(first.what.code == Code::mismatch);
    CHECK(first.what.rank == 2);
    CHECK(first.what.sequence == 41);
    CHECK(first.what.header[1][0] == 0xfeed);
    CHECK(first.what.reporter == reporter);
    CHECK(first.text == "ranks disagree");
  }
  CHECK(groups[1]->all_gather({}, soon()).status().code() == Code::mismatch);
}

TEST_CASE("a failure ends a wait at once, and only the first one counts") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(2));
  Status waited;
  std::thread waiting([&] { waited = groups[0]->all_gather({}, soon(60'000)).status(); });
  test::sleep_ms(20);
  GroupFailure first, second;
  first.what.code = Code::aborted;
  second.what.code = Code::internal;
  groups[1]->report(first);
  groups[1]->report(second);
  waiting.join();
  CHECK(waited.code() == Code::aborted);
  Heard late;
  late.listen(*groups[1]);
  REQUIRE(late.failures().size() == 1);
  CHECK(late.failures()[0].what.code == Code::aborted);
}

TEST_CASE("a rank that is destroyed without goodbye is a failure, one that said it is not") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(4));
  Heard heard[2];
  heard[0].listen(*groups[0]);
  heard[1].listen(*groups[1]);
  groups[3]->goodbye();
  groups[3].reset();
  for (auto& each : heard)
    REQUIRE(eventually([&] { return each.departed() == std::vector<int>{3}; }));
  CHECK(heard[0].failures().empty());
  groups[2].reset();
  for (auto& each : heard) {
    REQUIRE(eventually([&] { return !each.failures().empty(); }));
    CHECK(each.failures()[0].what.code == Code::peer_failed);
    CHECK(each.failures()[0].what.rank == 2);
  }
}

TEST_CASE("rank 0 may leave first, or die and be named") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(3));
  Heard heard;
  heard.listen(*groups[1]);
  const bool in_order = GENERATE(true, false);
  if (in_order) groups[0]->goodbye();
  groups[0].reset();
  if (in_order) {
    REQUIRE(eventually([&] { return heard.departed() == std::vector<int>{0}; }));
    test::sleep_ms(20);
    CHECK(heard.failures().empty());
  } else {
    REQUIRE(eventually([&] { return !heard.failures().empty(); }));
    CHECK(heard.failures()[0].what.rank == 0);
  }
}

TEST_CASE("whoever waits for a rank that has left is told so, before and after it left") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(3));
  Heard heard;
  heard.listen(*groups[0]);
  Status waited;
  std::thread waiting;
  const auto wait = [&] { waited = groups[1]->all_gather({}, soon(5'000)).status(); };
  if (const bool before = GENERATE(true, false); before) {
    waiting = std::thread(wait);
    test::sleep_ms(20);
    groups[2]->goodbye();
  } else {
    groups[2]->goodbye();
    REQUIRE(eventually([&] { return heard.departed() == std::vector<int>{2}; }));
    waiting = std::thread(wait);
  }
  waiting.join();
  CHECK(waited.code() == Code::peer_failed);
  CHECK(waited.rank() == 2);
}

TEST_CASE("the host's memory reaches every rank, and is the same memory") {
  const int before = test::count_descriptors();
  const int inheritable = test::count_inheritable();
  {
    auto control = test::start_control();
    const int size = GENERATE(1, 2, 7);
    Groups groups = test::join_threads(*control, test::in_order(size));
    constexpr std::size_t bytes = 3 * 4096;
    auto memory = make_sealed_memory("gyre-test", bytes);
    REQUIRE(memory.ok());
    auto mine = *SharedMapping::of(memory->get(), 0, bytes);
    mine.data()[5000] = std::byte{0x5a};
    std::atomic<int> good = 0;
    std::vector<UniqueFd> received(static_cast<std::size_t>(size));
    on_all(groups, [&](Group& group) {
      auto fd = group.share(group.rank() == 0 ? memory->get() : -1, bytes, soon());
      if (!fd.ok()) return;
      const auto mapping = SharedMapping::of(fd->get(), 0, bytes);
      if (mapping.ok() && mapping->data()[5000] == std::byte{0x5a}) ++good;
      received[static_cast<std::size_t>(group.rank())] = std::move(*fd);
    });
    CHECK(good == size);
    CHECK(test::count_inheritable() == inheritable);
    for (auto& group : groups) group->goodbye();
  }
  CHECK(test::count_descriptors() == before);
}

TEST_CASE("memory that is unsealed, or of another size, is refused on all ranks") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(2));
  const bool sealed = GENERATE(true, false);
  UniqueFd memory;
  if (sealed)
    memory = std::move(*make_sealed_memory("gyre-test", 8192));
  else
    memory.reset(::memfd_create("gyre-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::vector<Status> results(2);
  on_all(groups, [&](Group& group) {
    results[static_cast<std::size_t>(group.rank())] =
        group.share(group.rank() == 0 ? memory.get() : -1, 4096, soon()).status();
  });
  for (const auto& result : results) {
    CHECK(result.code() == Code::refused);
    CHECK(mentions(result, sealed ? "8192 bytes instead of 4096" : "not sealed"));
  }
}

TEST_CASE("ranks that disagree about the memory's size are told") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(3));
  auto memory = make_sealed_memory("gyre-test", 4096);
  std::vector<Status> results(3);
  on_all(groups, [&](Group& group) {
    results[static_cast<std::size_t>(group.rank())] =
        group.share(group.rank() == 0 ? memory->get() : -1, group.rank() == 2 ? 8192 : 4096, soon())
            .status();
  });
  CHECK(results[2].code() == Code::refused);
  // Rank 1 may have had its memory before; its next call tells.
  CHECK(groups[1]->all_gather({}, soon()).status().code() == Code::refused);
  CHECK(results[0].code() == Code::refused);
  CHECK(results[0].rank() == 2);
}

TEST_CASE("sharing twice is refused") {
  auto control = test::start_control();
  Groups groups = test::join_threads(*control, test::in_order(1));
  auto memory = make_sealed_memory("gyre-test", 4096);
  CHECK(groups[0]->share(memory->get(), 4096, soon()).ok());
  CHECK(groups[0]->share(memory->get(), 4096, soon()).status().code() == Code::invalid_argument);
}

TEST_CASE("a group can be destroyed while its failure is being told") {
  for (int round = 0; round < 30; ++round) {
    auto control = test::start_control();
    Groups groups = test::join_threads(*control, test::in_order(3));
    std::atomic<bool> destroyed = false;
    std::atomic<bool> late = false;
    groups[1]->watch([&](const GroupFailure&) { late = late || destroyed; }, nullptr);
    std::thread killer([&] { groups[0]->report(GroupFailure{}); });
    std::thread destroyer([&] {
      groups[1].reset();
      destroyed = true;
    });
    killer.join();
    destroyer.join();
    groups.clear();
    CHECK_FALSE(late);
  }
}
