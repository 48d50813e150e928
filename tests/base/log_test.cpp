#include "base/log.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <thread>
#include <vector>

using gyre::Log;
using gyre::LogLevel;

namespace {

struct Lines {
  std::vector<std::string> all;
  Log log(LogLevel level) {
    return Log(level, [this](std::string_view line) { all.emplace_back(line); });
  }
};

/// Counts how often it is formatted.
struct Counted {
  int* formatted;
};

}  // namespace

template <>
struct fmt::formatter<Counted> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const Counted& counted, fmt::format_context& context) const {
    ++*counted.formatted;
    return context.out();
  }
};

TEST_CASE("a log writes its level and what is more urgent") {
  Lines lines;
  const Log log = lines.log(LogLevel::warn);
  log.error("a {}", 1);
  log.warn("b {}", "two");
  log.info("c");
  log.debug("d");
  REQUIRE(lines.all.size() == 2);
  CHECK(lines.all[0] == "gyre error: a 1");
  CHECK(lines.all[1] == "gyre warn: b two");
}

TEST_CASE("a disabled level formats nothing") {
  Lines lines;
  int formatted = 0;
  const Log log = lines.log(LogLevel::info);
  log.debug("{}", Counted{&formatted});
  CHECK(formatted == 0);
  log.info("{}", Counted{&formatted});
  CHECK(formatted == 1);
}

TEST_CASE("a rank is named where it is known") {
  Lines lines;
  const Log log = lines.log(LogLevel::info);
  log.of_rank(3).info("here");
  log.info("there");
  REQUIRE(lines.all.size() == 2);
  CHECK(lines.all[0] == "gyre info: rank 3: here");
  CHECK(lines.all[1] == "gyre info: there");
}

TEST_CASE("long lines are cut, and say so") {
  Lines lines;
  lines.log(LogLevel::info).info("{}", std::string(100'000, 'x'));
  REQUIRE(lines.all.size() == 1);
  CHECK(lines.all[0].size() == Log::line_bytes_max);
  CHECK(lines.all[0].ends_with("x [cut]"));
}

TEST_CASE("a log stops at its limit, and says so") {
  std::uint64_t count = 0;
  std::string last;
  const Log log(LogLevel::info, [&](std::string_view line) {
    ++count;
    last = line;
  });
  for (std::uint64_t i = 0; i < Log::lines_max + 10; ++i) log.info("again");
  CHECK(count == Log::lines_max + 1);
  CHECK(last == "gyre warn: too many log lines; no more will follow");
}

TEST_CASE("lines of many threads come whole") {
  Lines lines;
  const Log log = lines.log(LogLevel::info);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([log, t] {
      for (int i = 0; i < 200; ++i) log.of_rank(t).info("line {}", i);
    });
  for (auto& thread : threads) thread.join();
  REQUIRE(lines.all.size() == 800);
  int next[4] = {};
  for (const auto& line : lines.all) {
    const int rank = line[16] - '0';
    REQUIRE(line == fmt::format("gyre info: rank {}: line {}", rank, next[rank]));
    ++next[rank];
  }
}

TEST_CASE("a repeated message thins out") {
  gyre::LogLimit limit;
  int said = 0;
  for (int i = 0; i < 1000; ++i) said += limit.allow();
  CHECK(said == 8 + 6);  // 16, 32, 64, 128, 256, 512
  CHECK(limit.count() == 1000);
}
