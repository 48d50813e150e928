// Rank processes: they start, answer, are bound, and are gone afterwards whatever they do.
#include "bench/rank_set.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.hpp"
#include "bench/child_process.hpp"
#include "bench/turn_taking.hpp"

using namespace gyre;
using namespace gyre::bench;

namespace {

struct Field {
  ScratchFolder scratch = std::move(ScratchFolder::make("/tmp").value());
  Interrupt interrupt = std::move(Interrupt::make().value());
  std::size_t children_before = descendants(::getpid()).size();

  RankSetPlan plan(const std::string& variant) const {
    RankSetPlan made;
    made.library = "solo";
    made.variant = variant;
    made.ranks = 2;
    const auto self = std::filesystem::read_symlink("/proc/self/exe");
    made.command = {(self.parent_path() / "bench/fake-rank").string()};
    made.one_command_per_rank = true;
    made.scratch = scratch.path();
    made.turn_timeout_ms = 20'000;
    return made;
  }
  bool nobody_left() const { return descendants(::getpid()).size() == children_before; }
};

Operation small_broadcast() {
  Operation operation;
  operation.collective = Collective::broadcast;
  operation.count = 100;
  return operation;
}

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("processes that would wake up by themselves are stopped between two orders") {
  Field field;
  auto plan = field.plan("default");
  plan.stop_between_orders = true;
  // The kernel stops a process some moments after kill(2) has returned.
  const auto comes_to_stop = [](pid_t pid) {
    for (int look = 0; look < 1000; ++look) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
      std::string words;
      std::getline(file, words);
      if (words.substr(words.rfind(')') + 2, 1) == "T") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  };
  {
    auto set = RankSet::start(plan, field.interrupt);
    REQUIRE(set.ok());
    REQUIRE((*set)->prepare(small_broadcast()).ok());
    const auto ranks = descendants(::getpid());
    REQUIRE(ranks.size() >= 2);
    for (const pid_t pid : ranks) CHECK(comes_to_stop(pid));
    TurnOrder order;
    order.iterations = 10;
    order.first_round = 1;
    CHECK((*set)->turn(order).ok());
  }
  CHECK(field.nobody_left());
}

TEST_CASE("ranks start, take turns, sleep in between, and leave nothing behind") {
  Field field;
  {
    auto set = RankSet::start(field.plan("default"), field.interrupt);
    REQUIRE(set.ok());
    CHECK((*set)->version() == "1");
    REQUIRE((*set)->prepare(small_broadcast()).ok());
    TurnOrder order;
    order.iterations = 10;
    order.verify = 0;
    REQUIRE((*set)->turn(order).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto before_ns = (*set)->cpu_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK((*set)->cpu_ns() - before_ns < 500'000);
    CHECK((*set)->release().ok());
  }
  CHECK(field.nobody_left());
}

TEST_CASE("a rank that spins out of its turn shows in the CPU time, until its next order") {
  Field field;
  auto set = RankSet::start(field.plan("default"), field.interrupt);
  REQUIRE(set.ok());
  REQUIRE((*set)->spin().ok());
  const auto before_ns = (*set)->cpu_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK((*set)->cpu_ns() - before_ns > 2'000'000);  // 1 % of 200 ms, also on a busy machine
  REQUIRE((*set)->prepare(small_broadcast()).ok());
}

TEST_CASE("what a library lacks is no failure") {
  Field field;
  auto set = RankSet::start(field.plan("default"), field.interrupt);
  REQUIRE(set.ok());
  Operation operation = small_broadcast();
  operation.dtype = DataType::float16;
  CHECK((*set)->prepare(operation).code() == Code::unsupported);
  CHECK((*set)->usable());
  CHECK((*set)->prepare(small_broadcast()).ok());
}

TEST_CASE("a rank that fails in a turn is named, and nobody is left") {
  Field field;
  for (const std::string variant : {"die", "error"}) {
    CAPTURE(variant);
    auto set = RankSet::start(field.plan(variant), field.interrupt);
    REQUIRE(set.ok());
    REQUIRE((*set)->prepare(small_broadcast()).ok());
    const auto figure = (*set)->turn(TurnOrder{});
    REQUIRE_FALSE(figure.ok());
    CHECK(contains(figure.status().message(), "rank 1"));
    CHECK_FALSE((*set)->usable());
    set->reset();
    CHECK(field.nobody_left());
  }
}

TEST_CASE("a rank that hangs is given up at its deadline") {
  Field field;
  RankSetPlan plan = field.plan("hang");
  plan.turn_timeout_ms = 200;
  auto set = RankSet::start(plan, field.interrupt);
  REQUIRE(set.ok());
  REQUIRE((*set)->prepare(small_broadcast()).ok());
  const auto start = monotonic_now();
  CHECK_FALSE((*set)->turn(TurnOrder{}).ok());
  CHECK(monotonic_now() - start < 10'000 * nanoseconds_per_ms);
  set->reset();
  CHECK(field.nobody_left());
}

TEST_CASE("a program that ends at once, or is not there, is reported with what it printed") {
  Field field;
  const auto mute = RankSet::start(field.plan("mute"), field.interrupt);
  REQUIRE_FALSE(mute.ok());
  CHECK(contains(mute.status().message(), "no license"));
  RankSetPlan plan = field.plan("default");
  plan.command = {"/nonexistent/program"};
  const auto missing = RankSet::start(plan, field.interrupt);
  REQUIRE_FALSE(missing.ok());
  CHECK(contains(missing.status().message(), "No such file"));
  CHECK(field.nobody_left());
}

TEST_CASE("a launcher that starts other ranks than were asked for is noticed") {
  Field field;
  RankSetPlan plan = field.plan("default");
  plan.one_command_per_rank = false;
  plan.command.insert(plan.command.end(), {"--rank", "0", "--size", "1"});
  const auto set = RankSet::start(plan, field.interrupt);
  REQUIRE_FALSE(set.ok());
  CHECK(contains(set.status().message(), "rank 0 of 1"));
  CHECK(field.nobody_left());
}

TEST_CASE("a scratch folder goes with all that is in it") {
  std::string path;
  {
    auto made = ScratchFolder::make("/tmp");
    REQUIRE(made.ok());
    path = made->path();
    std::ofstream(path + "/file") << "x";
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("only new names that nobody uses are removed from shared memory") {
  auto folder = ScratchFolder::make("/tmp");
  REQUIRE(folder.ok());
  const auto touch = [&](const char* name) { std::ofstream(folder->path() + "/" + name) << "x"; };
  touch("old");
  const SharedMemoryNames names(folder->path());
  touch("new");
  touch("used");
  const std::ifstream open(folder->path() + "/used");
  names.remove_new();
  CHECK(std::filesystem::exists(folder->path() + "/old"));
  CHECK(std::filesystem::exists(folder->path() + "/used"));
  CHECK_FALSE(std::filesystem::exists(folder->path() + "/new"));
}

TEST_CASE("a child's exit code comes back, and one that lasts too long is killed") {
  ChildCommand command;
  command.arguments = {"sh", "-c", "exit $CODE"};
  command.environment.emplace("CODE", "7");
  CHECK(run_child(command, 10'000).value() == 7);
  command.arguments = {"sleep", "60"};
  CHECK(run_child(command, 50).status().code() == Code::timeout);
}
