#include "schedules/checker/links.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace gyre::schedules::checker;

namespace {

Runs run(std::uint64_t element) { return {{1, element, 1}}; }

}  // namespace

TEST_CASE("a link holds as many messages as it has slots and gives them out in order") {
  Links links(3, 1, 2);
  CHECK_FALSE(links.has_message(0, 1));
  CHECK(links.has_credit(0, 1));
  CHECK(links.send(0, 1, run(10), nullptr) == 0);
  CHECK(links.has_credit(0, 1));
  CHECK(links.send(0, 1, {{1, 20, 1}, {2, 30, 2}}, nullptr) == 1);
  CHECK_FALSE(links.has_credit(0, 1));
  CHECK(links.has_credit(0, 2));
  CHECK_FALSE(links.has_message(1, 0));

  Runs out;
  links.receive(0, 1, out, nullptr);
  CHECK(out.size() == 1);
  CHECK(out[0].element == 10);
  CHECK(links.has_credit(0, 1));
  CHECK(links.why_not_empty() == "rank 1 has not read every message of rank 0");
  links.receive(0, 1, out, nullptr);
  CHECK(out.size() == 2);
  CHECK(out[1].element == 30);
  CHECK(links.why_not_empty().empty());
}

TEST_CASE("a cast slot is free only when the slowest reader has read it") {
  Links links(3, 1, 1);
  CHECK(links.has_cast_credit(0, 1));
  links.cast(0, run(10), nullptr);
  CHECK_FALSE(links.has_cast_credit(0, 1));
  CHECK_FALSE(links.has_cast_credit(0, 2));
  Runs out;
  links.receive_cast(0, 1, out, nullptr);
  CHECK(links.has_cast_credit(0, 1));
  CHECK_FALSE(links.has_cast_credit(0, 2));
  CHECK_FALSE(links.has_cast(0, 1));
  CHECK(links.has_cast(0, 2));
  CHECK(links.why_not_empty() == "rank 2 has not read every message of rank 0 to all");
  links.receive_cast(0, 2, out, nullptr);
  CHECK(links.why_not_empty().empty());
}

TEST_CASE("a message brings what its sender knew") {
  Links links(2, 1, 1);
  const Clock sender = {3, 1};
  Clock receiver = {0, 7};
  links.send(0, 1, run(0), &sender);
  Runs out;
  links.receive(0, 1, out, &receiver);
  CHECK(receiver == Clock{3, 7});
}
