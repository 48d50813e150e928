// The environment variables of gyre: one table, and the function that reads a block of them. The
// table is the manual: docs/reference/environment.md is checked against it by a test.
//
// Nothing here calls getenv. The edge hands over its environment block, when a Context is made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/status.hpp"

namespace gyre {

/// What the variables say, with defaults where they say nothing.
struct Settings {
  LogLevel log_level = LogLevel::warn;
  std::uint32_t timeout_ms = 300'000;  ///< of creation and of each operation
  std::string algorithm;               ///< empty: the tuner picks
  bool check_strict = false;           ///< compare all headers before any payload moves
  std::string interface = "lo";
  std::string secret_file;                  ///< empty: none
  std::optional<std::uint32_t> slot_bytes;  ///< none: the transport's choice
  std::optional<std::uint32_t> slots;       ///< none: the transport's choice
  std::optional<std::uint32_t> spin_us;     ///< none: by the number of ranks and cores
  /// Worded for the user: unknown names, repeated names. At most warnings_max.
  std::vector<std::string> warnings;

  static constexpr std::size_t warnings_max = 16;
};

/// How a value is written.
enum class VariableType : std::uint8_t { integer, choice, text };

/// A row of the table.
struct Variable {
  std::string_view name;
  VariableType type;
  std::int64_t minimum;       ///< integer only
  std::int64_t maximum;       ///< integer: the largest value; text: the longest, in bytes
  std::int64_t multiple_of;   ///< integer only
  std::string_view choices;   ///< choice only: "a|b|c"
  std::string_view fallback;  ///< what happens when it is not set, for the manual
  std::string_view help;
};

std::span<const Variable> environment_table();

/// "1 to 64", "normal or strict", "text of at most 255 bytes": for the manual and for messages.
std::string allowed_values(const Variable& variable);

/// Reads every `GYRE_...=value` of `block`. Names that begin with GYRE_TEST_ belong to test
/// programs and are passed over. With `privileged` (the process runs with more rights than its
/// caller, AT_SECURE) nothing is read, and a warning says so. invalid_argument names the first bad
/// variable, its value, what is allowed, and what to do.
Result<Settings> parse_environment(std::span<const char* const> block, bool privileged = false);

/// The entries of a null-terminated block such as `environ`; at most 65536.
std::span<const char* const> environment_block(const char* const* entries);

}  // namespace gyre
