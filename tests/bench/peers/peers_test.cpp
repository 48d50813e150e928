// The programs under bench/peers, started and ordered about as gyre-bench does it: right results,
// honest refusals, no CPU time between turns, and nothing left behind however they end.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/peers/peer_process.hpp"

using namespace gyre;
using namespace gyre::bench;
using namespace gyre::bench::test;

namespace {

std::string any_peer() {
  return GENERATE(values<std::string>({"openmpi", "mpich", "impi", "openmpi5", "mpich5", "gloo"}));
}

Command prepare(Collective collective, std::uint64_t count, DataType type = DataType::float32) {
  Command command;
  command.order = Order::prepare;
  command.operation.collective = collective;
  command.operation.count = count;
  command.operation.dtype = type;
  return command;
}

Command turn(std::uint64_t iterations = 5) {
  Command command;
  command.order = Order::turn;
  command.turn.iterations = iterations;
  command.turn.deadline_ms = 30'000;
  return command;
}

std::string describe(const Operation& operation) {
  std::ostringstream text;
  text << name_of(operation.collective) << " of " << operation.count << " "
       << name_of(operation.dtype) << " " << name_of(operation.op)
       << (operation.in_place ? ", in place" : "") << (operation.registered ? ", registered" : "");
  return text.str();
}

/// Prepares and takes a turn; false if the library says that it has no such thing.
bool right(PeerProcess& peer, const Command& operation) {
  INFO(describe(operation.operation));
  for (const auto& reply : peer.order(operation)) {
    INFO(reply.error);
    if (reply.outcome == Outcome::unsupported) return false;
    REQUIRE(reply.outcome == Outcome::done);
  }
  for (const auto& reply : peer.order(turn())) {
    INFO(reply.error);
    CHECK(reply.outcome == Outcome::done);
    CHECK(reply.wrong == 0);
  }
  return true;
}

constexpr Collective measured[] = {Collective::all_reduce, Collective::reduce_scatter,
                                   Collective::all_gather, Collective::broadcast};

/// CPU time of all threads, in clock ticks.
long cpu_ticks(pid_t pid) {
  std::istringstream fields(stat_fields(pid));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return user + system;
}

/// True if some living process still has the file mapped: then it is not a leftover.
bool is_mapped(const std::string& name) {
  std::error_code ignored;
  for (const auto& process : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream maps(process.path() / "maps");
    for (std::string line; std::getline(maps, line);)
      if (line.ends_with(name)) return true;
  }
  return false;
}

/// What is in /dev/shm that was not there before and nobody uses, once it had time to go.
std::set<std::string> left_in_memory(const std::set<std::string>& before) {
  std::set<std::string> left;
  becomes_true(std::chrono::seconds(10), [&] {
    left.clear();
    for (const auto& name : names_in("/dev/shm"))
      if (!before.contains(name) && !is_mapped(name)) left.insert(name);
    return left.empty();
  });
  return left;
}

}  // namespace

TEST_CASE("peers answer every collective rightly, in place and out of place") {
  const int ranks = GENERATE(2, 3);
  PeerProcess peer(any_peer(), ranks);
  for (const Collective collective : measured) {
    for (const std::uint64_t count : {1, 3, 1000, 40'000}) {
      Command operation = prepare(collective, count);
      CHECK(right(peer, operation));
      operation.operation.in_place = 1;
      CHECK(right(peer, operation));
    }
  }
  Command registered = prepare(Collective::all_reduce, 1000);
  registered.operation.registered = 1;
  CHECK(right(peer, registered));
}

TEST_CASE("peers reduce every type and operator rightly, or say that they have none") {
  PeerProcess peer(any_peer(), 2);
  for (const auto& type : data_types) {
    for (const auto& op : reduce_ops) {
      Command operation = prepare(Collective::all_reduce, 1000, type.type);
      operation.operation.op = op.op;
      const bool supported = right(peer, operation);
      INFO(describe(operation.operation));
      if (op.op == ReduceOp::avg)
        CHECK_FALSE(supported);
      else if (type.bytes > 2)
        CHECK(supported);
    }
  }
}

TEST_CASE("gloo does not poll where ranks outnumber cpus") {
  const int ranks = static_cast<int>(std::thread::hardware_concurrency()) + 1;
  if (ranks > 16) SKIP("more ranks than this test should start");
  PeerProcess peer("gloo", ranks, "ring_chunked_poll");
  CHECK_FALSE(right(peer, prepare(Collective::all_reduce, 1000)));
}

TEST_CASE("a damaged output of a peer is found, on that rank alone") {
  PeerProcess peer(any_peer(), 2);
  REQUIRE(right(peer, prepare(Collective::all_reduce, 1000)));
  Command damaged = turn();
  damaged.turn.flip_bit = 1;
  peer.send(0, turn());
  peer.send(1, damaged);
  CHECK(peer.receive(0).wrong == 0);
  CHECK(peer.receive(1).wrong == 1);
}

TEST_CASE("peers sleep between turns") {
  PeerProcess peer(any_peer(), 3);
  REQUIRE(right(peer, prepare(Collective::all_reduce, 1000)));
  std::vector<long> before;
  for (const pid_t pid : peer.pids()) before.push_back(cpu_ticks(pid));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (unsigned i = 0; i < before.size(); ++i) {
    CHECK(PeerProcess::state_of(peer.pids()[i]) == 'S');
    CHECK(cpu_ticks(peer.pids()[i]) - before[i] <= 1);
  }
  // It can be noticed: the self-test makes a rank burn what it should not.
  Command spin;
  spin.order = Order::spin;
  peer.order(spin);
  CHECK(becomes_true(std::chrono::seconds(20),
                     [&] { return cpu_ticks(peer.pids()[0]) - before[0] > 5; }));
}

TEST_CASE("peers end when told to, and leave nothing behind") {
  const auto memory_before = names_in("/dev/shm");
  PeerProcess peer(any_peer(), 3);
  REQUIRE(right(peer, prepare(Collective::all_reduce, 100'000)));
  peer.quit();
  for (const int code : peer.exit_codes()) CHECK(code == 0);
  CHECK(peer.all_ranks_gone());
  CHECK(names_in(peer.temporary().path()) == std::set<std::string>{});
  CHECK(left_in_memory(memory_before) == std::set<std::string>{});
}

TEST_CASE("peers end when the coordinator is gone, even during a turn") {
  const auto memory_before = names_in("/dev/shm");
  const bool during_a_turn = GENERATE(false, true);
  PeerProcess peer(any_peer(), 2);
  REQUIRE(right(peer, prepare(Collective::all_reduce, 1000)));
  for (unsigned i = 0; during_a_turn && i < 2; ++i) peer.send(i, turn(100));
  peer.disconnect();
  CHECK(peer.all_ranks_gone());
  CHECK(left_in_memory(memory_before) == std::set<std::string>{});
}

TEST_CASE("a call that never returns ends at its deadline, and every rank with it") {
  const auto memory_before = names_in("/dev/shm");
  PeerProcess peer(any_peer(), 2);
  REQUIRE(right(peer, prepare(Collective::all_reduce, 1000)));
  Command alone = turn();
  alone.turn.deadline_ms = 500;
  peer.send(0, alone);
  CHECK(becomes_true(end_time_max, [&] {
    const char state = PeerProcess::state_of(peer.pids()[0]);
    return state == '?' || state == 'Z';
  }));
  peer.disconnect();
  CHECK(peer.all_ranks_gone());
  CHECK(left_in_memory(memory_before) == std::set<std::string>{});
}

TEST_CASE("every variant of the table starts and answers rightly", "[.long]") {
  std::ifstream table(std::string(GYRE_PEERS_FOLDER) + "/variants");
  REQUIRE(table);
  std::set<std::string> missing;
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream text(line);
    std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    if (words.empty() || words[0].starts_with("#")) continue;
    INFO(line);
    REQUIRE(words.size() >= 2);
    if (!peers_json().at(words[0]).contains("program")) {
      missing.insert(words[0]);
      continue;
    }
    const int ranks = words[1].ends_with("_poll") ? 2 : 3;  // it wants a cpu for each
    PeerProcess peer(words[0], ranks, words[1], {words.begin() + 2, words.end()});
    for (const Collective collective : measured)
      for (const std::uint64_t count : {2, 5'000, 300'000})
        CHECK(right(peer, prepare(collective, count)));
    // A library that does not know a setting may say so and go on without it.
    CHECK(peer.read_output() == "");
  }
  for (const auto& name : missing) WARN(name << " is not installed: its variants were not tried");
}
