#include "tests/explorer/protocols.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "tests/explorer/memory.hpp"
#include "transport/shm/announcements.hpp"
#include "transport/shm/counter.hpp"
#include "transport/shm/doorbells.hpp"
#include "transport/shm/failure_record.hpp"
#include "transport/shm/slot_queue.hpp"

namespace gyre::explorer {
namespace {

using transport::Failure;
using transport::shm::Announcements;
using transport::shm::Bell;
using transport::shm::Counter;
using transport::shm::Doorbells;
using transport::shm::FailureDetails;
using transport::shm::FailureRecord;
using transport::shm::FailureWord;
using transport::shm::FenceMode;
using transport::shm::Look;
using transport::shm::Sleepers;
using transport::shm::SlotReceiver;
using transport::shm::SlotSender;

/// Among correct peers nothing ever looks corrupt.
bool ready(Look look) {
  check(look != Look::corrupt, "a correct peer's counter is taken for corrupt");
  return look == Look::ready;
}

template <std::size_t receivers>
struct Link {
  Counter<Memory> published;
  std::array<Counter<Memory>, receivers> consumed;
  std::array<Plain<std::uint64_t>, 3> slots;

  SlotSender<Memory> sender(int slots_used) {
    return {published, std::span<const Counter<Memory>>(consumed), -1, slots_used};
  }
  SlotReceiver<Memory> receiver(std::size_t index, int slots_used) {
    return {published, consumed[index], slots_used};
  }
};

template <std::size_t receivers>
Program link_program(const char* name, int slots, std::uint64_t messages) {
  auto link = std::make_shared<Link<receivers>>();
  Program program{name, {}};
  program.threads.push_back([=] {
    auto queue = link->sender(slots);
    for (std::uint64_t m = 1; m <= messages; ++m) {
      await([&] { return ready(queue.look()); });
      link->slots[queue.index()].store(m);
      queue.publish();
    }
    return std::uint64_t{0};
  });
  for (std::size_t i = 0; i < receivers; ++i)
    program.threads.push_back([=] {
      auto queue = link->receiver(i, slots);
      for (std::uint64_t m = 1; m <= messages; ++m) {
        await([&] { return ready(queue.look()); });
        check(link->slots[queue.index()].load() == m, "lost, repeated or torn message");
        queue.release();
      }
      return std::uint64_t{0};
    });
  return program;
}

Program two_slots() { return link_program<1>("2 slots, 5 messages", 2, 5); }
Program three_slots() { return link_program<1>("3 slots, 6 messages", 3, 6); }
Program cast_slots() { return link_program<2>("cast to 2, 2 slots, 3 messages", 2, 3); }

/// Two places per ring instead of 16, so that reuse begins at the third operation.
struct Board {
  static constexpr std::uint64_t operations = 5;
  using View = Announcements<Memory, 2, 2>;
  using Words = std::array<std::uint64_t, 2>;
  std::array<View::Ring, 2> rings;

  static Words words(int rank, std::uint64_t sequence) {
    const std::uint64_t value = sequence * 10 + static_cast<std::uint64_t>(rank);
    return {value, value + 1000};
  }
};

/// Takes part in all operations; `reads`: looks at the peer's announcements, as most ranks do.
std::uint64_t announce_all(Board& board, int rank, bool reads) {
  Board::View view(board.rings, rank);
  for (std::uint64_t s = 1; s <= Board::operations; ++s) {
    await([&] { return ready(view.announce(s, Board::words(rank, s))); });
    if (!reads) continue;
    Board::Words words{};
    await([&] { return ready(view.read(1 - rank, s, words)); });
    check(words == Board::words(1 - rank, s), "torn announcement, or another operation's");
  }
  return view.last(1 - rank);
}

Program announcements(const char* name, bool both_read) {
  auto board = std::make_shared<Board>();
  return {name,
          {[=] { return announce_all(*board, 0, both_read); },
           [=] { return announce_all(*board, 1, true); }}};
}
Program mutual_announcements() { return announcements("announcements, both read", true); }
Program ahead_announcements() { return announcements("announcements, one runs ahead", false); }

/// Small operations as the engine runs them: both ranks announce, rank 0 has put its data into a
/// slot before. The last message comes the usual way, after a counter that lagged behind.
struct SmallCasts {
  static constexpr int slots = 2;
  static constexpr std::uint64_t operations = 4;
  Board board;
  Link<1> link;
};

Program announced_slots() {
  auto shared = std::make_shared<SmallCasts>();
  const auto sender = [=] {
    auto queue = shared->link.sender(SmallCasts::slots);
    Board::View view(shared->board.rings, 0);
    Board::Words words{};
    for (std::uint64_t s = 1; s <= SmallCasts::operations; ++s) {
      await([&] { return ready(queue.look()); });
      shared->link.slots[queue.index()].store(s);
      const bool last = s == SmallCasts::operations;
      if (last)
        queue.publish();
      else
        queue.publish_announced();
      await([&] { return ready(view.announce(s, Board::words(0, s))); });
      await([&] { return ready(view.read(1, s, words)); });
    }
    return std::uint64_t{0};
  };
  const auto receiver = [=] {
    auto queue = shared->link.receiver(0, SmallCasts::slots);
    Board::View view(shared->board.rings, 1);
    Board::Words words{};
    for (std::uint64_t s = 1; s <= SmallCasts::operations; ++s) {
      await([&] { return ready(view.announce(s, Board::words(1, s))); });
      if (s == SmallCasts::operations) {
        await([&] { return ready(queue.look()); });
      } else {
        await([&] { return ready(view.read(0, s, words)); });
        queue.learn();
      }
      check(shared->link.slots[queue.index()].load() == s, "an announcement overtook its data");
      queue.release();
    }
    return std::uint64_t{0};
  };
  return {"announced slots", {sender, receiver}};
}

struct Hall {
  Sleepers<Memory> sleepers;
  std::array<Bell<Memory>, 3> bells;
  std::array<Counter<Memory>, 2> published;
  Word<std::uint64_t> flag;
  FailureWord<Memory> failure;
  std::array<FailureDetails<Memory>, 3> details;

  Doorbells<Memory> doorbells(int rank, FenceMode mode) {
    return {sleepers, std::span<Bell<Memory>>(bells), rank, mode};
  }
  FailureRecord<Memory> record(int rank) {
    return {failure, std::span<FailureDetails<Memory>>(details), rank};
  }
};

/// As a rank waits once it no longer spins.
template <class Ready>
void sleep_until(Doorbells<Memory>& doorbells, const Ready& is_ready) {
  constexpr int rounds_max = 6;
  for (int round = 0; round < rounds_max; ++round) {
    doorbells.prepare();
    if (is_ready()) return doorbells.cancel();
    doorbells.sleep(1);
  }
  check(false, "woken again and again for nothing");
}

/// One publisher of two values, and a sleeper that wants the second.
Program one_publisher(const char* name, FenceMode mode) {
  auto hall = std::make_shared<Hall>();
  return {name,
          {[=] {
             auto doorbells = hall->doorbells(0, mode);
             for (std::uint64_t value = 1; value <= 2; ++value) {
               hall->published[0].set(value);
               doorbells.kick(1);
             }
             return std::uint64_t{0};
           },
           [=] {
             auto doorbells = hall->doorbells(1, mode);
             sleep_until(doorbells, [&] { return hall->published[0].get() == 2; });
             return std::uint64_t{0};
           }}};
}
Program one_publisher_symmetric() {
  return one_publisher("doorbell, symmetric", FenceMode::symmetric);
}
Program one_publisher_asymmetric() {
  return one_publisher("doorbell, asymmetric", FenceMode::asymmetric);
}

/// Two publishers, one of which rings everybody, and a sleeper that needs both.
Program two_publishers(const char* name, FenceMode mode) {
  auto hall = std::make_shared<Hall>();
  const auto publish = [=](int rank) {
    auto doorbells = hall->doorbells(rank, mode);
    hall->published[static_cast<std::size_t>(rank)].set(1);
    if (rank == 0)
      doorbells.kick_all();
    else
      doorbells.kick(2);
    return std::uint64_t{0};
  };
  return {name,
          {[=] { return publish(0); }, [=] { return publish(1); },
           [=] {
             auto doorbells = hall->doorbells(2, mode);
             sleep_until(doorbells, [&] {
               return hall->published[0].get() == 1 && hall->published[1].get() == 1;
             });
             return std::uint64_t{0};
           }}};
}
Program two_publishers_symmetric() {
  return two_publishers("doorbell, 2 publishers, symmetric", FenceMode::symmetric);
}
Program two_publishers_asymmetric() {
  return two_publishers("doorbell, 2 publishers, asymmetric", FenceMode::asymmetric);
}

/// Another thread of the sleeper's process wakes it for something that it stored relaxed.
Program plain_wake() {
  auto hall = std::make_shared<Hall>();
  return {"wake for a relaxed flag",
          {[=] {
             auto doorbells = hall->doorbells(1, FenceMode::asymmetric);
             hall->flag.store(1, std::memory_order_relaxed);
             doorbells.ring(1);
             return std::uint64_t{0};
           },
           [=] {
             auto doorbells = hall->doorbells(1, FenceMode::asymmetric);
             sleep_until(doorbells,
                         [&] { return hall->flag.load(std::memory_order_relaxed) == 1; });
             return std::uint64_t{0};
           }}};
}

Failure failure_by(int rank) {
  Failure failure;
  failure.code = Code::mismatch;
  failure.rank = rank;
  failure.sequence = static_cast<std::uint64_t>(rank) + 7;
  failure.header[1][1] = static_cast<std::uint64_t>(rank) + 70;
  return failure;
}

/// The reporter of the recorded failure, plus 1; everything else must be that reporter's.
std::uint64_t reporter_of(const Failure& failure) {
  check(failure.code == Code::mismatch, "no failure after one was recorded");
  const Failure wanted = failure_by(failure.reporter);
  check(failure.rank == wanted.rank && failure.sequence == wanted.sequence &&
            failure.header[1][1] == wanted.header[1][1],
        "a failure's details are not its reporter's");
  return static_cast<std::uint64_t>(failure.reporter) + 1;
}

/// Two ranks fail at once; a third polls. The test compares the outcomes: all name one reporter.
Program two_aborters() {
  auto hall = std::make_shared<Hall>();
  const auto abort_as = [=](int rank) {
    auto record = hall->record(rank);
    record.set(failure_by(rank));
    return reporter_of(record.get());
  };
  return {"failure record, 2 aborters",
          {[=] { return abort_as(0); }, [=] { return abort_as(1); },
           [=] {
             auto record = hall->record(2);
             await([&] { return record.failed(); });
             return reporter_of(record.get());
           }}};
}

/// A sender without credit and a receiver without a message, each polling, until an aborter comes.
Program abort_of_link() {
  struct Shared {
    Hall hall;
    Link<1> link;
  };
  auto shared = std::make_shared<Shared>();
  const auto give_up = [=](FailureRecord<Memory> record, const auto& look) {
    bool is_ready = false;
    await([&] { return (is_ready = ready(look())) || record.failed(); });
    return !is_ready;
  };
  return {"abort of a link",
          {[=] {
             auto queue = shared->link.sender(1);
             for (std::uint64_t m = 1; m <= 3; ++m) {
               if (give_up(shared->hall.record(0), [&] { return queue.look(); })) return m;
               shared->link.slots[queue.index()].store(m);
               queue.publish();
             }
             check(false, "sent more than the receiver gave credit for");
             return std::uint64_t{0};
           },
           [=] {
             auto queue = shared->link.receiver(0, 1);
             if (give_up(shared->hall.record(1), [&] { return queue.look(); }))
               return std::uint64_t{1};
             check(shared->link.slots[queue.index()].load() == 1, "wrong message");
             queue.release();
             return std::uint64_t{2};
           },
           [=] {
             shared->hall.record(2).set(failure_by(2));
             return std::uint64_t{0};
           }}};
}

/// An aborter ends a rank that sleeps while a third publishes to it.
Program abort_of_sleeper() {
  auto hall = std::make_shared<Hall>();
  return {"abort of a sleeper",
          {[=] {
             auto record = hall->record(0);
             auto doorbells = hall->doorbells(0, FenceMode::symmetric);
             record.set(failure_by(0));
             doorbells.ring(2);
             return std::uint64_t{1};
           },
           [=] {
             auto doorbells = hall->doorbells(1, FenceMode::symmetric);
             hall->published[1].set(1);
             doorbells.kick(2);
             return std::uint64_t{1};
           },
           [=] {
             auto record = hall->record(2);
             auto doorbells = hall->doorbells(2, FenceMode::symmetric);
             sleep_until(doorbells, [&] { return record.failed(); });
             return reporter_of(record.get());
           }}};
}

/// Sender and receiver both sleep instead of polling, with so few slots that both have to.
Program sleeping_link(const char* name, FenceMode mode) {
  struct Shared {
    Hall hall;
    Link<1> link;
  };
  constexpr std::uint64_t messages = 2;
  auto shared = std::make_shared<Shared>();
  return {name,
          {[=] {
             auto doorbells = shared->hall.doorbells(0, mode);
             auto queue = shared->link.sender(1);
             for (std::uint64_t m = 1; m <= messages; ++m) {
               sleep_until(doorbells, [&] { return ready(queue.look()); });
               shared->link.slots[queue.index()].store(m);
               queue.publish();
               doorbells.kick(1);
             }
             return std::uint64_t{0};
           },
           [=] {
             auto doorbells = shared->hall.doorbells(1, mode);
             auto queue = shared->link.receiver(0, 1);
             for (std::uint64_t m = 1; m <= messages; ++m) {
               sleep_until(doorbells, [&] { return ready(queue.look()); });
               check(shared->link.slots[queue.index()].load() == m, "wrong message");
               queue.release();
               doorbells.kick(0);
             }
             return std::uint64_t{0};
           }}};
}
Program sleeping_link_symmetric() {
  return sleeping_link("sleeping link, symmetric", FenceMode::symmetric);
}
Program sleeping_link_asymmetric() {
  return sleeping_link("sleeping link, asymmetric", FenceMode::asymmetric);
}

}  // namespace

const std::vector<Protocol>& protocols() {
  static const std::vector<Protocol> all = {
      {"wake", plain_wake},
      {"doorbell-symmetric", one_publisher_symmetric},
      {"doorbell-asymmetric", one_publisher_asymmetric},
      {"slots-2", two_slots},
      {"slots-3", three_slots},
      {"announcements", mutual_announcements},
      {"announcements-ahead", ahead_announcements},
      {"announced-slots", announced_slots},
      {"failure", two_aborters},
      {"abort-sleeper", abort_of_sleeper},
      {"abort-link", abort_of_link},
      {"cast", cast_slots},
      {"doorbell-2-symmetric", two_publishers_symmetric},
      {"doorbell-2-asymmetric", two_publishers_asymmetric},
      {"sleeping-link-symmetric", sleeping_link_symmetric},
      {"sleeping-link-asymmetric", sleeping_link_asymmetric},
  };
  return all;
}

}  // namespace gyre::explorer
