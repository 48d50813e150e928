#include "base/random.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/clock.hpp"

using gyre::Deadline;
using gyre::Random;

TEST_CASE("splitmix64 gives its published sequence") {
  std::uint64_t state = 0;
  CHECK(gyre::splitmix64(state) == 0xe220a8397b1dcdafu);
  CHECK(gyre::splitmix64(state) == 0x6e789e6aa1b965f4u);
  CHECK(gyre::splitmix64(state) == 0x06c45d188009454fu);
}

TEST_CASE("xoshiro256** gives its published sequence") {
  Random random(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  CHECK(random() == 11520u);
  CHECK(random() == 0u);
  CHECK(random() == 1509978240u);
  CHECK(random() == 1215971899390074240u);
}

TEST_CASE("a seed gives one sequence, another seed another") {
  Random a(7), b(7), c(8);
  const auto first = a();
  CHECK(first == b());
  CHECK(first != c());
}

TEST_CASE("ranges are uniform, bounded, and reach both ends") {
  Random random(1);
  std::array<int, 7> hits{};
  for (int i = 0; i < 70'000; ++i) ++hits[random.below(7)];
  for (const int count : hits) CHECK((count > 9'600 && count < 10'400));
  CHECK(random.below(1) == 0);
  bool low = false, high = false;
  for (int i = 0; i < 1'000; ++i) {
    const auto value = random.between(-2, 2);
    REQUIRE((value >= -2 && value <= 2));
    low |= value == -2;
    high |= value == 2;
  }
  CHECK((low && high));
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  CHECK(random.between(highest, highest) == highest);
  CHECK(random.between(lowest, highest) != random.between(lowest, highest));
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double unit = random.unit();
    REQUIRE((unit >= 0 && unit < 1));
    sum += unit;
  }
  CHECK((sum > 4'900 && sum < 5'100));
}

TEST_CASE("a shuffle keeps every element and moves some") {
  Random random(3);
  std::array<int, 50> items{};
  std::iota(items.begin(), items.end(), 0);
  const auto sorted = items;
  random.shuffle(std::span(items));
  CHECK(items != sorted);
  std::sort(items.begin(), items.end());
  CHECK(items == sorted);
}

TEST_CASE("a fork is independent of its parent") {
  Random parent(5);
  Random child = parent.fork();
  CHECK(parent() != child());
}

TEST_CASE("deadlines pass at their moment and saturate") {
  const Deadline deadline = Deadline::after(100, 50);
  CHECK_FALSE(deadline.passed(149));
  CHECK(deadline.passed(150));
  CHECK(deadline.left(120) == 30);
  CHECK(deadline.left(151) == 0);
  constexpr auto last = std::numeric_limits<gyre::Nanoseconds>::max();
  CHECK_FALSE(Deadline().passed(last));
  CHECK(Deadline::after(last - 10, 100).never());
  CHECK(Deadline::after(100, 0).passed(100));
  const auto before = gyre::monotonic_now();
  CHECK(gyre::monotonic_now() >= before);
}
