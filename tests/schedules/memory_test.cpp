#include "schedules/checker/memory.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "schedules/checker/expression.hpp"
#include "schedules/checker/races.hpp"

using namespace gyre::schedules::checker;

TEST_CASE("runs of elements hold what single elements would") {
  constexpr std::uint64_t count = 40;
  std::uint64_t state = 1;
  const auto draw = [&](std::uint64_t below) { return (state = scrambled(state)) % below; };
  Memory memory;
  memory.reset(count);
  struct Element {
    std::uint64_t element = 0;
    Expression value = unwritten;
  };
  std::vector<Element> naive(count);
  for (int i = 0; i < 20000; ++i) {
    Runs runs;
    const std::uint64_t begin = draw(count + 1);
    for (std::uint64_t at = begin, n = draw(4); n > 0 && at < count; --n) {
      const Run run{1 + draw(std::min<std::uint64_t>(count - at, 6)), draw(3) * 10,
                    static_cast<Expression>(draw(3))};
      runs.push_back(run);
      for (std::uint64_t k = 0; k < run.count; ++k) naive[at++] = {run.element + k, run.value};
    }
    memory.write(begin, runs);
    Runs out;
    memory.read(0, count, out);
    std::uint64_t at = 0;
    for (const Run& run : out) {
      for (std::uint64_t k = 0; k < run.count; ++k, ++at) {
        REQUIRE(run.value == naive[at].value);
        if (run.value != unwritten) REQUIRE(run.element + k == naive[at].element);
      }
    }
    REQUIRE(at == count);
  }
}

TEST_CASE("an expression is complete when it has every rank once and is closed once") {
  Expressions e(3);
  const auto pass = [&](std::vector<Expression> operands) { return e.pass(operands); };
  const Expression a = e.leaf(0);
  const Expression b = e.leaf(1);
  const Expression c = e.leaf(2);
  CHECK(e.why_incomplete(e.closed(pass({pass({a, b}), c}))).empty());
  CHECK(e.why_incomplete(e.closed(pass({a, b, c}))).empty());
  CHECK(e.why_incomplete(pass({a, b, c})) == "is not finalized");
  CHECK(e.why_incomplete(e.closed(pass({a, b}))) == "lacks the input of rank 2");
  CHECK(e.why_incomplete(e.closed(pass({a, pass({b, b}), c}))) == "has the input of rank 1 twice");
  CHECK(e.why_incomplete(e.closed(pass({a, pass({b, e.closed(c)})}))) ==
        "is finalized more than once");
  CHECK(e.why_incomplete(unwritten) == "was never written");
}

TEST_CASE("equal expressions are one, other orders and groupings are others") {
  Expressions e(3);
  const std::array ab = {e.leaf(0), e.leaf(1)};
  const std::array ba = {e.leaf(1), e.leaf(0)};
  CHECK(e.pass(ab) == e.pass(ab));
  CHECK(e.pass(ab) != e.pass(ba));
  const std::array left = {e.pass(ab), e.leaf(2)};
  const std::array flat = {e.leaf(0), e.leaf(1), e.leaf(2)};
  CHECK(e.pass(left) != e.pass(flat));
  CHECK(e.fixed_tree() == e.closed(e.pass(left)));
}

TEST_CASE("an access is a conflict unless a message or event orders it") {
  AccessHistory history;
  history.reset(10, {0, 1});
  const Clock knows_nothing = {0, 5};
  const Clock knows_first = {1, 5};
  CHECK(history.record(1, knows_nothing, 2, 3, false) == 0);
  CHECK(history.record(1, knows_first, 2, 3, false) == AccessHistory::no_conflict);
  CHECK(history.record(0, {2, 4}, 4, 1, true) == 1);
  CHECK(history.record(0, {2, 4}, 5, 5, true) == AccessHistory::no_conflict);
  CHECK(history.record(0, {2, 5}, 2, 3, true) == AccessHistory::no_conflict);
  CHECK(history.record(1, knows_first, 4, 1, false) == 0);
}
