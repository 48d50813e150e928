#include "base/environment.hpp"

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using gyre::Code;
using gyre::LogLevel;
using gyre::parse_environment;
using gyre::Settings;

namespace {

gyre::Result<Settings> parse(std::vector<const char*> block, bool privileged = false) {
  return parse_environment(block, privileged);
}

std::string error_of(std::vector<const char*> block) {
  const auto settings = parse(std::move(block));
  REQUIRE_FALSE(settings.ok());
  CHECK(settings.status().code() == Code::invalid_argument);
  return settings.status().message();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an empty environment gives the defaults") {
  const auto settings = parse({"PATH=/bin", "GYREX=1", "gyre_log=debug"});
  REQUIRE(settings.ok());
  CHECK(settings->log_level == LogLevel::warn);
  CHECK(settings->timeout_ms == 300'000);
  CHECK(settings->algorithm.empty());
  CHECK_FALSE(settings->check_strict);
  CHECK(settings->interface == "lo");
  CHECK(settings->secret_file.empty());
  CHECK_FALSE(settings->slot_bytes);
  CHECK_FALSE(settings->slots);
  CHECK_FALSE(settings->spin_us);
  CHECK(settings->warnings.empty());
}

TEST_CASE("every variable of the table reaches its setting") {
  const auto settings =
      parse({"GYRE_LOG=debug", "GYRE_TIMEOUT_MS=86400000", "GYRE_ALGORITHM=ring",
             "GYRE_CHECK=strict", "GYRE_INTERFACE=eth0", "GYRE_SECRET_FILE=/run/a=b",
             "GYRE_SLOT_BYTES=1048576", "GYRE_SLOTS=64", "GYRE_SPIN_US=0"});
  REQUIRE(settings.ok());
  CHECK(settings->log_level == LogLevel::debug);
  CHECK(settings->timeout_ms == 86'400'000);
  CHECK(settings->algorithm == "ring");
  CHECK(settings->check_strict);
  CHECK(settings->interface == "eth0");
  CHECK(settings->secret_file == "/run/a=b");
  CHECK(settings->slot_bytes == 1'048'576u);
  CHECK(settings->slots == 64u);
  CHECK(settings->spin_us == 0u);
  CHECK(settings->warnings.empty());
}

TEST_CASE("each integer variable refuses what it does not take and says what it does") {
  for (const auto& variable : gyre::environment_table()) {
    if (variable.type != gyre::VariableType::integer) continue;
    const std::string name(variable.name);
    const std::vector<std::string> bad = {"",
                                          "x",
                                          "-1",
                                          "+5",
                                          "1.5",
                                          "12 ",
                                          " 12",
                                          "0x10",
                                          "99999999999999999999",
                                          std::to_string(variable.maximum + variable.multiple_of),
                                          std::to_string(variable.minimum - 1)};
    for (const auto& value : bad) {
      const std::string entry = name + "=" + value;
      CAPTURE(entry);
      const std::string message = error_of({entry.c_str()});
      CHECK(contains(message, fmt::format("{}=\"{}\"", name, value)));
      CHECK(contains(message, gyre::allowed_values(variable)));
      CHECK(contains(message, "unset it"));
    }
    for (const auto good : {variable.minimum, variable.maximum}) {
      const std::string entry = fmt::format("{}={}", name, good);
      CHECK(parse({entry.c_str()}).ok());
    }
  }
  CHECK(contains(error_of({"GYRE_SLOT_BYTES=5000"}), "is not a multiple of 4096"));
}

TEST_CASE("choices and texts refuse what they do not take") {
  CHECK(contains(error_of({"GYRE_LOG=loud"}), "it takes error, warn, info, debug"));
  CHECK(contains(error_of({"GYRE_LOG=warn|info"}), "is not known"));
  CHECK(contains(error_of({"GYRE_CHECK="}), "is empty"));
  CHECK(contains(error_of({"GYRE_ALGORITHM"}), "is empty"));
  const std::string long_name = "GYRE_INTERFACE=" + std::string(256, 'x');
  const std::string message = error_of({long_name.c_str()});
  CHECK(contains(message, "is too long"));
  CHECK(message.size() < 250);
  CHECK(contains(error_of({"GYRE_LOG=\x1b[2J\n"}), "GYRE_LOG=\"?[2J?\""));
}

TEST_CASE("an unknown name is warned about, with the nearest one") {
  const auto settings = parse({"GYRE_ALGORITM=ring", "GYRE_SOLTS=4", "GYRE_QZWVKJHXPD=1",
                               "GYRE_TIMEOUT=1", "GYRE_TEST_SEEDS=5"});
  REQUIRE(settings.ok());
  REQUIRE(settings->warnings.size() == 4);
  CHECK(contains(settings->warnings[0], "GYRE_ALGORITM is not a variable of gyre"));
  CHECK(contains(settings->warnings[0], "did you mean GYRE_ALGORITHM?"));
  CHECK(contains(settings->warnings[1], "did you mean GYRE_SLOTS?"));
  CHECK_FALSE(contains(settings->warnings[2], "did you mean"));
  CHECK(contains(settings->warnings[3], "did you mean GYRE_TIMEOUT_MS?"));
}

TEST_CASE("warnings are bounded and long names survive") {
  std::vector<std::string> entries;
  for (int i = 0; i < 100; ++i) entries.push_back("GYRE_" + std::string(500, 'A') + "=1");
  std::vector<const char*> block;
  for (const auto& entry : entries) block.push_back(entry.c_str());
  const auto settings = parse(block);
  REQUIRE(settings.ok());
  CHECK(settings->warnings.size() == Settings::warnings_max);
  CHECK(settings->warnings[0].size() < 100);
}

TEST_CASE("the first of two equal names counts") {
  const auto settings = parse({"GYRE_SLOTS=2", "GYRE_SLOTS=4", "GYRE_LOG=info", "GYRE_LOG=info"});
  REQUIRE(settings.ok());
  CHECK(settings->slots == 2u);
  REQUIRE(settings->warnings.size() == 1);
  CHECK(contains(settings->warnings[0], "GYRE_SLOTS is set twice"));
}

TEST_CASE("a privileged program ignores the environment") {
  const auto settings = parse({"GYRE_SECRET_FILE=/etc/shadow", "GYRE_SLOTS=bad"}, true);
  REQUIRE(settings.ok());
  CHECK(settings->secret_file.empty());
  REQUIRE(settings->warnings.size() == 1);
  CHECK(parse({"PATH=/bin"}, true)->warnings.empty());
}

TEST_CASE("an environment block ends at its null pointer") {
  const char* const entries[] = {"A=1", "GYRE_SLOTS=3", nullptr};
  CHECK(gyre::environment_block(entries).size() == 2);
  CHECK(gyre::environment_block(nullptr).empty());
}

TEST_CASE("the manual lists the table, row by row") {
  std::ifstream file(GYRE_DOCS_DIR "/reference/environment.md");
  REQUIRE(file.is_open());
  std::string listed;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `GYRE_")) listed += line + "\n";
  std::string expected;
  for (const auto& row : gyre::environment_table())
    expected += fmt::format("| `{}` | {} | {} | {} |\n", row.name, gyre::allowed_values(row),
                            row.fallback, row.help);
  CHECK(listed == expected);
}
