// A B A B and its bookkeeping, with libraries and a clock of the test's own.
#include "bench/turn_taking.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "bench/scouting.hpp"

using namespace gyre;
using namespace gyre::bench;
using Catch::Approx;

namespace {

/// One clock, and what happened on it.
struct Stage {
  std::uint64_t now_ns = 0;
  std::vector<std::string> turns;
  std::set<std::uint64_t> rounds;
  bool rounds_repeat = false;
};

class FakeSide final : public Side {
 public:
  FakeSide(Stage& stage, std::string name, std::vector<double> times_us)
      : stage_(stage), name_(std::move(name)), times_us_(std::move(times_us)) {}

  std::string label() const override { return name_; }
  std::uint64_t cpu_ns() const override {
    // Spinning out of turn: all the time that passes is its own.
    return spins_left_ > 0 ? stage_.now_ns : cpu_ns_;
  }
  Status prepare(const Operation& operation) override {
    if (operation.dtype == missing_) return {Code::unsupported, "no such type"};
    bytes_ = operation.count * size_of(operation.dtype);
    return {};
  }
  Result<TurnFigure> turn(const TurnOrder& order) override {
    if (before_turn_) before_turn_(turns_);
    stage_.turns.push_back(name_);
    for (std::uint64_t k = 0; k < order.iterations; ++k)
      if (!stage_.rounds.insert(order.first_round + k).second) stage_.rounds_repeat = true;
    if (broken_) return Status(Code::peer_failed, name_ + " is broken");
    stage_.now_ns += 20'000'000;
    for (FakeSide* other : disturbed_by_)
      if (other->spins_left_ > 0 && --other->spins_left_ == 0) other->cpu_ns_ = stage_.now_ns;
    TurnFigure figure;
    figure.time_us = times_us_[turns_++ % times_us_.size()] * (scales_ ? bytes_ : 1.0);
    figure.whole_us = 2 * figure.time_us;
    return figure;
  }

  int spins_left_ = 0;
  bool broken_ = false;
  bool scales_ = false;
  std::function<void(std::size_t)> before_turn_;  ///< given how many turns were taken before
  std::vector<FakeSide*> disturbed_by_;
  DataType missing_ = static_cast<DataType>(255);

 private:
  Stage& stage_;
  std::string name_;
  std::vector<double> times_us_;
  std::size_t turns_ = 0;
  std::uint64_t cpu_ns_ = 0;
  double bytes_ = 1;
};

TurnOrder order_of(std::uint64_t iterations) {
  TurnOrder order;
  order.iterations = iterations;
  order.warm_up = 2;
  return order;
}

Case case_of(std::uint64_t count, DataType dtype = DataType::float32) {
  Case row;
  row.operation.count = count;
  row.operation.dtype = dtype;
  row.bytes = count * size_of(dtype);
  return row;
}

}  // namespace

TEST_CASE("libraries alternate and the ratio is the median of the pairs' ratios") {
  Stage stage;
  FakeSide ours(stage, "A", {1, 1, 2});
  FakeSide theirs(stage, "B", {2, 9, 4});  // ratios 2, 9, 2
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  const auto result = take_pairs(ours, theirs, {}, order_of(5), 3, referee);
  REQUIRE(result.ok());
  CHECK(stage.turns == std::vector<std::string>{"A", "B", "A", "B", "A", "B"});
  CHECK(result->ratio == Approx(2));
  CHECK(result->ratio_min == Approx(2));
  CHECK(result->ratio_max == Approx(9));
  CHECK(median_time_us(result->theirs) == Approx(4));
  CHECK(referee.log.taken == 6);
  CHECK(referee.log.discarded == 0);
  CHECK_FALSE(stage.rounds_repeat);
}

TEST_CASE("a turn during which the cpus were moved is discarded, counted and repeated") {
  Stage stage;
  FakeSide side(stage, "A", {1, 7, 2});
  double round_trip_ns = 100;
  int pauses = 0;
  Steadiness steadiness([&] { return round_trip_ns; },
                        [&] {
                          if (++pauses % 10 == 0) round_trip_ns = 100;  // moved back
                        });
  CHECK(steadiness.usual_ns() == Approx(100));
  CHECK(steadiness.steady());
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  referee.steadiness = &steadiness;
  side.before_turn_ = [&](std::size_t turn) {
    if (turn == 1) round_trip_ns = 400;
  };
  CHECK(take_turn(side, {}, order_of(5), referee)->time_us == Approx(1));
  CHECK(referee.log.moved == 0);
  CHECK(take_turn(side, {}, order_of(5), referee)->time_us == Approx(2));
  CHECK(referee.log.moved == 1);
  CHECK(referee.log.taken == 3);
  CHECK_FALSE(stage.rounds_repeat);
}

TEST_CASE("cpus that stay where they were moved are measured there") {
  double round_trip_ns = 100;
  Steadiness steadiness([&] { return round_trip_ns; }, [] {});
  round_trip_ns = 50;
  CHECK_FALSE(steadiness.steady());
  steadiness.settle();
  CHECK(steadiness.steady());
  CHECK(steadiness.usual_ns() == Approx(50));

  // Cpus that move in every turn end the patience, not the run.
  Stage stage;
  FakeSide side(stage, "A", {1});
  side.before_turn_ = [&](std::size_t) { round_trip_ns *= 2; };
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  referee.steadiness = &steadiness;
  CHECK(take_turn(side, {}, order_of(5), referee).ok());
  CHECK(referee.log.moved == moves_max);
}

TEST_CASE("a turn that another library disturbed is discarded, counted and repeated") {
  Stage stage;
  FakeSide ours(stage, "A", {1});
  FakeSide theirs(stage, "B", {2});
  ours.disturbed_by_ = {&theirs};
  theirs.spins_left_ = 2;
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  const auto result = take_pairs(ours, theirs, {}, order_of(5), 1, referee);
  REQUIRE(result.ok());
  CHECK(referee.log.taken == 4);
  CHECK(referee.log.discarded == 2);
  CHECK(referee.log.idle_label == "B");
  CHECK(referee.log.idle_share == Approx(1));
  CHECK(result->ours.size() == 1);
}

TEST_CASE("a library that never sleeps ends the comparison and is named, a third one too") {
  Stage stage;
  FakeSide ours(stage, "A", {1});
  FakeSide theirs(stage, "B", {2});
  FakeSide third(stage, "C", {2});
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  SECTION("the opponent") { theirs.spins_left_ = 1000; }
  SECTION("one that only waits") { third.spins_left_ = 1000; }
  const auto result = take_pairs(ours, theirs, {&third}, order_of(5), 1, referee);
  REQUIRE_FALSE(result.ok());
  CHECK(referee.log.discarded == repeats_max + 1);
  const std::string culprit = theirs.spins_left_ > 0 ? "B used" : "C used";
  CHECK(result.status().message().find(culprit) != std::string::npos);
}

TEST_CASE("a failed turn is passed on") {
  Stage stage;
  FakeSide ours(stage, "A", {1});
  FakeSide theirs(stage, "B", {2});
  theirs.broken_ = true;
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  const auto result = take_pairs(ours, theirs, {}, order_of(5), 3, referee);
  CHECK(result.status().message() == "B is broken");
  CHECK(stage.turns.size() == 2);
}

TEST_CASE("scouting takes the fastest of its turns and skips what a library lacks") {
  Stage stage;
  FakeSide side(stage, "v", {5, 3});
  side.missing_ = DataType::float16;
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  ScoutTimes best;
  ScoutTimes times;
  const std::vector<Case> cases{case_of(2), case_of(2, DataType::float16), case_of(4)};
  REQUIRE(scout(side, cases, {}, referee, best, times).ok());
  CHECK(times == ScoutTimes{ScoutTime{3, 6}, std::nullopt, ScoutTime{3, 6}});
  CHECK(best == times);
  CHECK_FALSE(stage.rounds_repeat);
}

TEST_CASE("a hopeless variant is not tried at larger sizes") {
  Stage stage;
  FakeSide side(stage, "slow", {100});
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  const std::vector<Case> cases{case_of(1), case_of(2), case_of(4), case_of(8), case_of(16)};
  ScoutTimes best(5, ScoutTime{1, 2});
  ScoutTimes times;
  REQUIRE(scout(side, cases, {}, referee, best, times).ok());
  CHECK(times[2].has_value());
  CHECK_FALSE(times[3].has_value());
}

TEST_CASE("the fastest variant is chosen case by case") {
  const std::vector<ScoutTimes> times{{ScoutTime{1, 1}, ScoutTime{9, 9}, std::nullopt},
                                      {ScoutTime{2, 2}, ScoutTime{3, 3}, std::nullopt}};
  CHECK(fastest(times, 3) == std::vector<int>{0, 1, -1});
}

TEST_CASE("a variant that can't win a case takes one turn there, one that may takes two") {
  Stage stage;
  FakeSide side(stage, "v", {10});
  Referee referee;
  referee.now_ns = [&] { return stage.now_ns; };
  ScoutTimes best{ScoutTime{5, 5}, ScoutTime{9, 9}};
  ScoutTimes times;
  REQUIRE(scout(side, {case_of(1), case_of(2)}, {}, referee, best, times).ok());
  CHECK(stage.turns.size() == 3);
}
