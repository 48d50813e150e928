// Each rule of the checker, broken by a small program that breaks nothing else.
#include "schedules/checker/checker.hpp"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <string>
#include <vector>

using namespace gyre::schedules;
using namespace gyre::schedules::checker;
using gyre::Collective;

namespace {

World small_world(int size, std::uint64_t count) {
  World world;
  world.size = size;
  world.count = count;
  world.piece_elements = 100;
  world.slots = 2;
  return world;
}

/// The reason after `change` of rank 0's program.
std::string reason_for(Collective collective, std::string_view algorithm, const World& world,
                       const std::function<void(std::vector<Action>&)>& change, int rank = 0) {
  const Schedule& schedule = *find_schedule(collective, algorithm);
  REQUIRE(check(schedule, world).reason == "");
  std::vector<Action> program = program_of(schedule, world, rank);
  change(program);
  const Override override{rank, program};
  return check(schedule, world, &override).reason;
}

bool has(const std::string& text, std::string_view part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

Action copy(Operand source, Operand destination, std::uint64_t count) {
  Action action;
  action.verb = Verb::copy;
  action.count = count;
  action.source[0] = source;
  action.destination[0] = destination;
  return action;
}

}  // namespace

TEST_CASE("a reason names rank, step and action, in words") {
  const std::string reason = reason_for(Collective::all_reduce, "ring", small_world(3, 6),
                                        [](auto& program) { program[1].source[1].offset += 1; });
  CHECK(reason ==
        "rank 0 step 1 (stage 1: combine slot<-2 + input[3..5) to slot->1) combines element 2 with "
        "element 3");
}

TEST_CASE("a deadlock is told by who waits for whom") {
  const std::string reason = reason_for(Collective::all_reduce, "ring", small_world(2, 4),
                                        [](auto& program) { program.clear(); });
  CHECK(has(reason, "deadlock: rank 1 step 1 (stage 1: "));
  CHECK(has(reason, "waits for a message from rank 0"));
}

TEST_CASE("a receive fused with a send deadlocks when a link has one slot") {
  // The ring with one slot splits the two; this is what it would be without that.
  Schedule always_fused = *find_schedule(Collective::all_reduce, "ring");
  always_fused.steps = [](const Plan& plan) {
    Plan roomy = plan;
    roomy.slots = 2;
    return ring::steps(roomy, ring::all_reduce_span(plan));
  };
  always_fused.action = [](const Plan& plan, std::uint64_t step) {
    Plan roomy = plan;
    roomy.slots = 2;
    return ring::action(roomy, step, ring::all_reduce_span(plan));
  };
  World world = small_world(3, 6);
  CHECK(check(always_fused, world).right());
  world.slots = 1;
  CHECK(has(check(always_fused, world).reason, "deadlock"));
}

TEST_CASE("casting twice before anybody reads deadlocks when the cast link has one slot") {
  Schedule eager = *find_schedule(Collective::all_reduce, "one_shot");
  eager.action = [](const Plan& plan, std::uint64_t step) {
    Plan roomy = plan;
    roomy.slots = 4;  // so pieces come in batches of two
    return one_shot::all_reduce_action(roomy, step);
  };
  World world = small_world(2, 8);
  world.piece_elements = 4;
  CHECK(check(eager, world).right());
  world.slots = 1;
  CHECK(has(check(eager, world).reason, "waits for rank 1 to read what was cast"));
}

TEST_CASE("a message left behind, of another length, or too long for a slot") {
  World world = small_world(3, 9);
  CHECK(has(reason_for(Collective::all_reduce, "ring", world,
                       [](auto& program) {
                         program.push_back(copy({Place::input, -1, 0}, {Place::slot, 1, 0}, 1));
                       }),
            "has not read every message of rank 0"));
  CHECK(has(reason_for(Collective::all_reduce, "one_shot", world,
                       [](auto& program) {
                         program.push_back(copy({Place::input, -1, 0}, {Place::cast, -1, 0}, 1));
                       }),
            "has not read every message of rank 0 to all"));
  CHECK(has(reason_for(Collective::all_reduce, "ring", world,
                       [](auto& program) { program[0].count -= 1; }),
            "elements of a message of rank 0 that has 2"));
  Schedule long_messages = *find_schedule(Collective::broadcast, "one_shot");
  long_messages.steps = [](const Plan&) { return std::uint64_t{1}; };
  long_messages.action = [](const Plan& plan, std::uint64_t) {
    Plan roomy = plan;
    roomy.piece_elements = plan.count;
    return one_shot::broadcast_action(roomy, 0);
  };
  CHECK(check(long_messages, world).right());
  world.piece_elements = 8;
  CHECK(has(check(long_messages, world).reason, "more than a slot"));
}

TEST_CASE("reading what was not written: output, scratch, another's input, past the end") {
  const World world = small_world(2, 4);
  const auto after = [&](Operand source, Operand destination) {
    return reason_for(
        Collective::broadcast, "two_shot", world,
        [&](auto& program) { program.insert(program.begin(), copy(source, destination, 1)); }, 1);
  };
  const Operand output{Place::output, -1, 0};
  const Operand scratch{Place::scratch, -1, 0};
  CHECK(has(after({Place::output, -1, 1}, output), "reads what was never written"));
  CHECK(has(after(scratch, output), "reads what was never written"));
  CHECK(has(after({Place::scratch, -1, 100}, output), "reads outside of scratch"));
  CHECK(has(after({Place::input, -1, 0}, output), "reads outside of rank 1's buffer"));
  CHECK(has(after({Place::mapped_input, 0, 0}, output), "which its row doesn't say it needs"));
  CHECK(has(reason_for(Collective::broadcast, "two_shot", world,
                       [](auto& program) {
                         program.push_back(copy({Place::input, -1, 0}, {Place::output, -1, 4}, 1));
                       }),
            "writes outside of rank 0's buffer"));
}

TEST_CASE("a contribution twice, missing, not finalized, finalized too early or twice") {
  const World world = small_world(3, 6);
  const auto with = [&](std::string_view algorithm,
                        const std::function<void(std::vector<Action>&)>& change) {
    return reason_for(Collective::all_reduce, algorithm, world, change);
  };
  const auto doubled = [](auto& program) {
    program[0].verb = Verb::combine;
    program[0].source[1] = program[0].source[0];
  };
  CHECK(has(with("ring", doubled), "has the input of rank 0 twice"));
  CHECK(has(with("ring",
                 [](auto& p) {
                   p[1].verb = Verb::copy;
                   p[1].source[1] = {};
                 }),
            "lacks the input of rank 0"));
  CHECK(has(with("ring", [](auto& p) { p[2].finalize = false; }), "is not finalized"));
  CHECK(has(with("ring", [](auto& p) { p[0].finalize = true; }), "combines what is finalized"));
  CHECK(has(with("ring", [](auto& p) { p[3].finalize = true; }), "finalizes twice"));
}

TEST_CASE("ranks that reduce in different orders are told apart") {
  const World world = small_world(3, 6);
  const std::string reason =
      reason_for(Collective::all_reduce, "one_shot", world, [](auto& program) {
        Action first = program[1];  // (input + cast 1) + cast 2, each rounded, not all three in one
        first.source[0] = {Place::input, -1, 0};
        first.source[1] = {Place::cast, 1, 0};
        first.finalize = false;
        Action second = first;
        second.source[0] = {Place::output, -1, 0};
        second.source[1] = {Place::cast, 2, 0};
        second.finalize = true;
        program = {program[0], first, second};
      });
  CHECK(has(reason, "in another order than rank 0"));
}

TEST_CASE("in-place buffers that are overwritten too early") {
  World world = small_world(2, 4);
  const auto early = [](std::vector<Action>& program) {
    std::swap(program[0], program[1]);  // stores the result before it hands out the input
    program[0] = copy({Place::input, -1, 0}, {Place::output, -1, 2}, 2);
  };
  world.in_place = true;
  CHECK_FALSE(reason_for(Collective::all_reduce, "ring", world, early).empty());
  const auto shifted = [](std::vector<Action>& program) {
    program.insert(program.begin(), copy({Place::input, -1, 0}, {Place::output, -1, 1}, 2));
  };
  CHECK(has(reason_for(Collective::all_reduce, "ring", world, shifted), "overlaps source"));
}

TEST_CASE("mapped memory without the event that makes it safe is a race") {
  const World world = small_world(3, 9);
  const auto mapped = [&](const std::function<void(std::vector<Action>&)>& change) {
    return reason_for(Collective::all_reduce, "mapped", world, change);
  };
  CHECK(has(mapped([](auto& p) { p[0].wait = Event::none; }),
            "no event or message orders that against"));
  CHECK(has(mapped([](auto& p) { p.pop_back(); }), "can return while rank"));
  CHECK(has(mapped([](auto& p) { p[0].signal = Event::none; }), "to leave"));
  CHECK(has(mapped([](auto& p) {
              p[0].signal = Event::none;
              p.insert(p.begin(), Action{});
              p[0].signal = Event::left;
            }),
            "can return while rank 0 still uses"));
}

TEST_CASE("a barrier that does not wait is none") {
  CHECK(has(reason_for(Collective::barrier, "one_shot", small_world(3, 0),
                       [](auto& program) { program.clear(); }),
            "can leave the barrier before rank 1 has entered"));
}

TEST_CASE("two channels that write the same elements race") {
  Schedule both = *find_schedule(Collective::broadcast, "one_shot");
  both.action = [](const Plan& plan, std::uint64_t step) {
    Plan alone = plan;
    alone.channel = 0;
    return one_shot::broadcast_action(alone, step);
  };
  World world = small_world(2, 4);
  world.channels = 2;
  CHECK(has(check(both, world).reason, "no event or message orders"));
}

TEST_CASE("actions that mean nothing are refused") {
  const auto with = [](const std::function<void(Action&)>& change) {
    return reason_for(Collective::all_reduce, "ring", small_world(3, 6),
                      [&](auto& program) { change(program[1]); });
  };
  CHECK(has(with([](Action& a) { a.source[0].peer = 0; }), "a peer that isn't one"));
  CHECK(has(with([](Action& a) { a.source[0].peer = 3; }), "a peer that isn't one"));
  CHECK(has(with([](Action& a) { a.source[0] = {}; }), "has no source"));
  CHECK(has(with([](Action& a) {
              a.destination[0] = {Place::input, -1, 0};
            }),
            "has no destination"));
  CHECK(has(with([](Action& a) { a.source[1] = {}; }), "combines one source"));
  CHECK(has(with([](Action& a) { a.source[1] = a.source[0]; }), "reads one link twice"));
  CHECK(has(with([](Action& a) { a.destination[1] = a.destination[0]; }), "one place twice"));
  CHECK(has(with([](Action& a) { a.verb = Verb::copy; }), "copies from more than one"));
  CHECK(has(with([](Action& a) { a.verb = Verb::none; }), "without a verb"));
  CHECK(has(with([](Action& a) { a.signal = Event::entered; }), "signals entered"));
}
