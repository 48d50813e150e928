// The control protocol's bounds: nothing that arrives is used before it has been checked.
#include "bench/protocol.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "bench/helper.hpp"

using namespace gyre;
using namespace gyre::bench;

namespace {

bool fine(const char* text) { return *text == 0; }

Command prepare_command() {
  Command command;
  command.order = Order::prepare;
  command.operation.count = 1000;
  return command;
}

Command turn_command() {
  Command command;
  command.order = Order::turn;
  command.turn.deadline_ms = 1000;
  return command;
}

}  // namespace

TEST_CASE("commands within their bounds are accepted") {
  CHECK(fine(defect(prepare_command())));
  CHECK(fine(defect(turn_command())));
  CHECK(fine(defect(Command{})));
}

TEST_CASE("each field of a command out of its range is refused") {
  const auto refused = [](Command command, auto change) {
    change(command);
    return !fine(defect(command));
  };
  CHECK(refused(turn_command(), [](Command& c) { c.magic = 1; }));
  CHECK(refused(turn_command(), [](Command& c) { c.order = static_cast<Order>(77); }));
  CHECK(refused(turn_command(), [](Command& c) { c.turn.iterations = 0; }));
  CHECK(refused(turn_command(), [](Command& c) { c.turn.iterations = iterations_max + 1; }));
  CHECK(refused(turn_command(), [](Command& c) { c.turn.warm_up = ~std::uint64_t{0}; }));
  CHECK(refused(turn_command(), [](Command& c) { c.turn.percentile_calls = ~0u; }));
  CHECK(refused(turn_command(), [](Command& c) { c.turn.deadline_ms = 0; }));
  CHECK(refused(prepare_command(), [](Command& c) { c.operation.count = ~std::uint64_t{0}; }));
  CHECK(refused(prepare_command(), [](Command& c) { c.operation.root = -2; }));
  CHECK(refused(prepare_command(), [](Command& c) { c.operation.dtype = DataType{99}; }));
  CHECK(refused(prepare_command(), [](Command& c) { c.operation.op = ReduceOp{99}; }));
  CHECK(refused(prepare_command(), [](Command& c) { c.operation.collective = Collective{99}; }));
  CHECK(refused(prepare_command(), [](Command& c) { c.order = Order::pin, c.cpu = 70000; }));
}

TEST_CASE("hellos and replies with bad ranks, times or unterminated text are refused") {
  Hello hello;
  hello.size = 2;
  hello.pid = 1;
  CHECK(fine(defect(hello)));
  hello.rank = 2;
  CHECK_FALSE(fine(defect(hello)));
  hello.rank = 1;
  std::memset(hello.version, 'x', sizeof hello.version);
  CHECK_FALSE(fine(defect(hello)));

  Reply reply;
  CHECK(fine(defect(reply)));
  reply.start_ns = 2;
  reply.end_ns = 1;
  CHECK_FALSE(fine(defect(reply)));
  reply.end_ns = 3;
  std::memset(reply.error, 'x', sizeof reply.error);
  CHECK_FALSE(fine(defect(reply)));
}

TEST_CASE("long text is cut to its field and terminated") {
  Reply reply;
  put_text(reply.error, std::string(5000, 'e'));
  CHECK(terminated(reply.error));
  CHECK(std::string(reply.error).size() == sizeof reply.error - 1);
}

TEST_CASE("a message cut short is not a message") {
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  const Command command = turn_command();
  REQUIRE(write_all(pair[0], &command, sizeof command));
  Command got;
  REQUIRE(read_all(pair[1], &got, sizeof got));
  CHECK(std::memcmp(&got, &command, sizeof got) == 0);
  REQUIRE(write_all(pair[0], &command, sizeof command - 1));
  ::close(pair[0]);
  CHECK_FALSE(read_all(pair[1], &got, sizeof got));
  CHECK_FALSE(write_all(pair[1], &command, sizeof command));
  ::close(pair[1]);
}

TEST_CASE("helper arguments are checked") {
  const auto parse = [](std::vector<std::string> words, HelperArguments* arguments) {
    std::vector<char*> argv{words[0].data()};
    for (std::size_t i = 1; i < words.size(); ++i) argv.push_back(words[i].data());
    std::string error;
    const bool ok =
        parse_helper_arguments(static_cast<int>(argv.size()), argv.data(), arguments, &error);
    CHECK(ok == error.empty());
    return ok;
  };
  HelperArguments arguments;
  CHECK(parse({"x", "--socket", "s", "--rank", "1", "--size", "2"}, &arguments));
  CHECK(arguments.rank == 1);
  arguments = HelperArguments{};
  CHECK_FALSE(parse({"x"}, &arguments));
  CHECK_FALSE(parse({"x", "--socket"}, &arguments));
  CHECK_FALSE(parse({"x", "--socket", "s", "--rank", "-1"}, &arguments));
  CHECK_FALSE(parse({"x", "--socket", "s", "--size", "9999"}, &arguments));
  CHECK_FALSE(parse({"x", "--socket", "s", "--bogus", "1"}, &arguments));
}
