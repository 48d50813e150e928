// Ranks as processes: what a kill leaves behind, and who notices.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <future>

#include "base/random.hpp"
#include "tests/transport/bootstrap/harness.hpp"
#include "transport/bootstrap/group.hpp"
#include "transport/bootstrap/sealed_memory.hpp"
#include "transport/bootstrap/star.hpp"

using namespace gyre;
using namespace gyre::transport;
using test::Child;
using test::eventually;
using test::Pipe;
using test::soon;

namespace {

constexpr std::size_t shared_bytes = 4096;

/// Exit statuses of a rank's process.
enum Exit { fine = 0, no_join = 10, no_share = 11, no_word = 12, unexpected = 13, named = 100 };

/// Children that become ranks 1 to size-1 when the parent, rank 0, has told them the id.
class Ranks {
 public:
  using Body = std::function<int(Group&, ControlThread&)>;

  Ranks(int size, const Body& body, bool share = true) : size_(size), pipes_(index(size)) {
    for (int rank = 1; rank < size; ++rank)
      children_.emplace_back([this, rank, &body, share] { return run(rank, body, share); });
  }

  /// Rank 0 in this process; tells the id to the others, the last first.
  std::unique_ptr<Group> join(ControlThread& control, bool share = true) {
    auto listener = test::open_listener(control);
    const UniqueId id = listener->id();
    const auto encoded = *id.encode();
    for (int rank = size_ - 1; rank > 0; --rank)
      std::ignore = ::write(pipes_[index(rank)].write.get(), encoded.data(), encoded.size());
    auto group = test::join(control, id, 0, size_, soon(), std::move(listener));
    if (!group.ok()) return nullptr;
    if (!share) return std::move(*group);
    const auto memory = make_sealed_memory("gyre-test", shared_bytes);
    if (!(*group)->share(memory->get(), shared_bytes, soon()).ok()) return nullptr;
    return std::move(*group);
  }

  Child& child(int rank) { return children_[index(rank - 1)]; }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  int run(int rank, const Body& body, bool share) {
    UniqueId::Encoded encoded;
    if (::read(pipes_[index(rank)].read.get(), encoded.data(), encoded.size()) !=
        static_cast<ssize_t>(encoded.size()))
      return no_join;
    auto control = test::start_control();
    auto group = test::join(*control, *UniqueId::decode(encoded), rank, size_);
    if (!group.ok()) return no_join;
    if (share && !(*group)->share(-1, shared_bytes, soon()).ok()) return no_share;
    const int status = body(**group, *control);
    group->reset();
    return status;
  }

  int size_;
  std::vector<Pipe> pipes_;
  std::vector<Child> children_;
};

/// Names in /dev/shm that could be ours; other programs of the machine come and go there.
int count_named_memory() { return test::count_entries("/dev/shm", "gyre"); }

/// The first failure's rank as an exit status.
int wait_for_name(Group& group) {
  std::promise<int> name;
  group.watch([&](const GroupFailure& failure) { name.set_value(failure.what.rank); }, nullptr);
  auto future = name.get_future();
  if (future.wait_for(std::chrono::seconds(10)) != std::future_status::ready) return no_word;
  return named + future.get();
}

}  // namespace

TEST_CASE("processes join, share, exchange records and leave") {
  const int size = GENERATE(2, 5);
  const int named_before = count_named_memory();
  Ranks ranks(size, [](Group& group, ControlThread&) {
    const auto records = group.all_gather(test::bytes_of("record"), soon());
    group.goodbye();
    return records.ok() && test::text_of(records->back()) == "record" ? fine : unexpected;
  });
  auto control = test::start_control();
  auto group = ranks.join(*control);
  REQUIRE(group);
  CHECK(group->all_gather(test::bytes_of("record"), soon()).ok());
  group->goodbye();
  for (int rank = 1; rank < size; ++rank) CHECK(ranks.child(rank).wait() == fine);
  CHECK(count_named_memory() == named_before);
}

TEST_CASE("a killed rank is named on every survivor, with and without pidfds") {
  const bool share = GENERATE(true, false);
  Ranks ranks(
      4, [](Group& group, ControlThread&) { return wait_for_name(group); }, share);
  auto control = test::start_control();
  auto group = ranks.join(*control, share);
  REQUIRE(group);
  std::promise<int> name;
  group->watch([&](const GroupFailure& failure) { name.set_value(failure.what.rank); }, nullptr);
  ranks.child(2).kill(SIGKILL);
  CHECK(name.get_future().get() == 2);
  CHECK(ranks.child(1).wait() == named + 2);
  CHECK(ranks.child(3).wait() == named + 2);
}

TEST_CASE("a process that exits without goodbye has failed, one that says goodbye has not") {
  Ranks ranks(3, [](Group& group, ControlThread&) {
    if (group.rank() == 1) {
      group.goodbye();
      ::_exit(fine);  // at once: the others see the process end before rank 0 can relay anything
    }
    std::atomic<bool> departed = false;
    std::atomic<bool> failed = false;
    group.watch([&](const GroupFailure&) { failed = true; }, [&](int) { departed = true; });
    const bool heard = eventually([&] { return departed || failed; });
    test::sleep_ms(50);
    if (!heard || failed) return unexpected;
    ::_exit(fine);  // without goodbye
  });
  auto control = test::start_control();
  auto group = ranks.join(*control);
  REQUIRE(group);
  std::promise<int> name;
  group->watch([&](const GroupFailure& failure) { name.set_value(failure.what.rank); }, nullptr);
  CHECK(ranks.child(1).wait() == fine);
  CHECK(ranks.child(2).wait() == fine);
  CHECK(name.get_future().get() == 2);
}

TEST_CASE("an orderly end is told from a death even when rank 0 has left before") {
  Ranks ranks(3, [](Group& group, ControlThread&) {
    std::atomic<bool> zero_left = false, one_left = false, failed = false;
    group.watch([&](const GroupFailure&) { failed = true; },
                [&](int rank) { (rank == 0 ? zero_left : one_left) = true; });
    if (!eventually([&] { return zero_left.load(); })) return unexpected;
    if (group.rank() == 1) {
      test::sleep_ms(50);  // rank 0 can't relay this any more
      group.goodbye();
      ::_exit(fine);
    }
    const bool heard = eventually([&] { return one_left || failed; });
    group.goodbye();
    return heard && !failed ? fine : unexpected;
  });
  auto control = test::start_control();
  auto group = ranks.join(*control);
  REQUIRE(group);
  group->goodbye();
  group.reset();
  CHECK(ranks.child(1).wait() == fine);
  CHECK(ranks.child(2).wait() == fine);
}

TEST_CASE("a killed rank 0 is named by the others") {
  // Rank 0 is a child of this process here, so that it can be killed; the id goes the other way.
  Pipe to_one, to_two;
  Child zero([&] {
    auto control = test::start_control();
    auto listener = test::open_listener(*control);
    const UniqueId id = listener->id();
    const auto encoded = *id.encode();
    std::ignore = ::write(to_one.write.get(), encoded.data(), encoded.size());
    std::ignore = ::write(to_two.write.get(), encoded.data(), encoded.size());
    auto group = test::join(*control, id, 0, 3, soon(), std::move(listener));
    if (!group.ok()) return static_cast<int>(no_join);
    const auto memory = make_sealed_memory("gyre-test", shared_bytes);
    if (!(*group)->share(memory->get(), shared_bytes, soon()).ok())
      return static_cast<int>(no_share);
    (*group)->all_gather({}, soon(60'000)).status().ok();  // the others never come
    return static_cast<int>(unexpected);
  });
  const auto survivor = [](Pipe& pipe, int rank) {
    UniqueId::Encoded encoded;
    std::ignore = ::read(pipe.read.get(), encoded.data(), encoded.size());
    auto control = test::start_control();
    auto group = test::join(*control, *UniqueId::decode(encoded), rank, 3);
    if (!group.ok()) return static_cast<int>(no_join);
    if (!(*group)->share(-1, shared_bytes, soon()).ok()) return static_cast<int>(no_share);
    return wait_for_name(**group);
  };
  Child one([&] { return survivor(to_one, 1); });
  Child two([&] { return survivor(to_two, 2); });
  test::sleep_ms(300);
  zero.kill(SIGKILL);
  CHECK(one.wait() == named + 0);
  CHECK(two.wait() == named + 0);
}

TEST_CASE("a rank that ends because another has failed is not taken for the cause") {
  // Rank 1 tells rank 0, which is stopped and can't relay it: the others only see rank 1's end.
  Pipe ready, go;
  Ranks ranks(4, [&go](Group& group, ControlThread&) {
    if (group.rank() == 1) {
      char byte;
      if (::read(go.read.get(), &byte, 1) != 1) return static_cast<int>(unexpected);
      group.report(failure_of(Code::timeout, 3, "rank 3 does not answer"));
    }
    return wait_for_name(group);
  });
  Child zero([&] {
    auto control = test::start_control();
    const auto group = ranks.join(*control);
    if (!group || ::write(ready.write.get(), "r", 1) != 1) return static_cast<int>(no_join);
    return wait_for_name(*group);
  });
  char byte;
  REQUIRE(::read(ready.read.get(), &byte, 1) == 1);
  zero.kill(SIGSTOP);
  REQUIRE(::write(go.write.get(), "g", 1) == 1);
  CHECK(ranks.child(1).wait() == named + 3);
  CHECK(ranks.child(2).wait() == named + 3);
  zero.kill(SIGCONT);
  CHECK(zero.wait() == named + 3);
}

TEST_CASE("a rank that is killed while others still join is named") {
  Pipe id_pipe;
  Child one([&] {
    UniqueId::Encoded encoded;
    std::ignore = ::read(id_pipe.read.get(), encoded.data(), encoded.size());
    auto control = test::start_control();
    std::ignore = test::join(*control, *UniqueId::decode(encoded), 1, 3).ok();
    return static_cast<int>(unexpected);
  });
  auto control = test::start_control();
  auto listener = test::open_listener(*control);
  const UniqueId id = listener->id();
  const auto encoded = *id.encode();
  std::ignore = ::write(id_pipe.write.get(), encoded.data(), encoded.size());
  auto joined = std::async(std::launch::async, [&] {
    return test::join(*control, id, 0, 3, soon(), std::move(listener)).status();
  });
  test::sleep_ms(200);  // long enough to be let in; killed before that it would just be missing
  one.kill(SIGKILL);
  const Status status = joined.get();
  CHECK(status.code() == Code::peer_failed);
  CHECK(status.rank() == 1);
}

TEST_CASE("a stopped rank is no failure before its deadline, and is named then") {
  Ranks ranks(3, [](Group& group, ControlThread&) {
    const auto status = group.all_gather({}, soon(500)).status();
    return status.code() == Code::timeout ? named + status.rank() : unexpected;
  });
  auto control = test::start_control();
  auto group = ranks.join(*control);
  REQUIRE(group);
  ranks.child(2).kill(SIGSTOP);
  const auto status = group->all_gather({}, soon(500)).status();
  CHECK((status.ok() || status.rank() == 2));  // it may have contributed before it was stopped
  ranks.child(2).kill(SIGCONT);
}

TEST_CASE("processes that are killed leave no name and no descriptor behind") {
  // Abstract sockets and memfds can't outlive their descriptors; a name in /dev/shm could.
  const int named_before = count_named_memory();
  const int descriptors_before = test::count_descriptors();
  {
    Ranks ranks(3, [](Group& group, ControlThread&) { return wait_for_name(group); });
    auto control = test::start_control();
    auto group = ranks.join(*control);
    REQUIRE(group);
    ranks.child(1).kill(SIGKILL);
    ranks.child(2).kill(SIGKILL);
  }
  CHECK(count_named_memory() == named_before);
  CHECK(test::count_descriptors() == descriptors_before);
}
