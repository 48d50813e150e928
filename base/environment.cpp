#include "base/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <numeric>

namespace gyre {
namespace {

constexpr std::string_view prefix = "GYRE_";
constexpr std::string_view test_prefix = "GYRE_TEST_";
constexpr std::size_t entries_max = 65536;
constexpr std::size_t name_bytes_max = 64;
constexpr std::int64_t path_bytes_max = 4095;

constexpr Variable table[] = {
    {"GYRE_ALGORITHM", VariableType::text, 0, 64, 0, "", "chosen by size",
     "The algorithm of every collective that has one of this name. The log (info) says which "
     "algorithm was taken, and why."},
    {"GYRE_CHECK", VariableType::choice, 0, 0, 0, "normal|strict", "normal",
     "strict: all ranks compare their calls before any data moves."},
    {"GYRE_INTERFACE", VariableType::text, 0, 255, 0, "", "lo",
     "The network interface that ranks meet on. This version has ranks of one host only."},
    {"GYRE_LOG", VariableType::choice, 0, 0, 0, "error|warn|info|debug", "warn",
     "How much is written to stderr."},
    {"GYRE_SECRET_FILE", VariableType::text, 0, path_bytes_max, 0, "", "none",
     "A file with the secret that ranks prove they know; it must belong to you and be readable by "
     "you alone (mode 0600)."},
    {"GYRE_SLOTS", VariableType::integer, 1, 64, 1, "", "chosen by the transport",
     "Slots per link: how many messages may be under way between two ranks."},
    {"GYRE_SLOT_BYTES", VariableType::integer, 4096, 1 << 20, 4096, "", "chosen by the transport",
     "Bytes of one slot."},
    {"GYRE_SPIN_US", VariableType::integer, 0, 1'000'000, 1, "", "by the number of ranks and cores",
     "Microseconds that a waiting rank keeps its core before it gives it up."},
    {"GYRE_TIMEOUT_MS", VariableType::integer, 1, 86'400'000, 1, "", "300000",
     "Milliseconds that creating a communicator, or one operation, may take."},
};

/// A value as it may be shown in a message: short, printable.
std::string shown(std::string_view value) {
  constexpr std::size_t shown_max = 40;
  std::string text;
  for (const char c : value.substr(0, shown_max)) text += (c >= 0x20 && c < 0x7f) ? c : '?';
  if (value.size() > shown_max) text += "...";
  return text;
}

const Variable* find_variable(std::string_view name) {
  for (const auto& row : table)
    if (row.name == name) return &row;
  return nullptr;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (optimal string alignment, after Damerau 1964). Both at most name_bytes_max long.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, name_bytes_max + 1>;
  Row before_last{}, last{}, row{};
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

std::string unknown_warning(std::string_view name) {
  std::string message = fmt::format("{} is not a variable of gyre and is ignored", shown(name));
  if (name.size() > name_bytes_max) return message;
  const Variable* nearest = nullptr;
  std::size_t distance = name.size() / 2;  // further away is no misspelling
  for (const auto& row : table) {
    const std::size_t d = edit_distance(name, row.name);
    if (d < distance) {
      distance = d;
      nearest = &row;
    }
  }
  if (nearest) message += fmt::format("; did you mean {}?", nearest->name);
  return message;
}

Status bad_value(const Variable& variable, std::string_view value, std::string_view problem) {
  return Status(Code::invalid_argument,
                fmt::format("{}=\"{}\" {}: it takes {}. Set it to one of these, or unset it to get "
                            "the default ({})",
                            variable.name, shown(value), problem, allowed_values(variable),
                            variable.fallback));
}

Result<std::int64_t> parse_integer(const Variable& variable, std::string_view value) {
  std::int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc::invalid_argument || stop != end)
    return bad_value(variable, value, "is not a whole number");
  if (error == std::errc::result_out_of_range || number < variable.minimum ||
      number > variable.maximum)
    return bad_value(variable, value, "is out of range");
  if (number % variable.multiple_of != 0)
    return bad_value(variable, value, fmt::format("is not a multiple of {}", variable.multiple_of));
  return number;
}

bool is_choice(const Variable& variable, std::string_view value) {
  std::string_view rest = variable.choices;
  while (!rest.empty()) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, bar) == value) return true;
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return false;
}

/// Puts a checked value where it belongs.
void store(Settings& settings, std::string_view name, std::string_view value, std::int64_t number) {
  const auto count = static_cast<std::uint32_t>(number);
  if (name == "GYRE_ALGORITHM") settings.algorithm = value;
  if (name == "GYRE_CHECK") settings.check_strict = value == "strict";
  if (name == "GYRE_INTERFACE") settings.interface = value;
  if (name == "GYRE_SECRET_FILE") settings.secret_file = value;
  if (name == "GYRE_SLOTS") settings.slots = count;
  if (name == "GYRE_SLOT_BYTES") settings.slot_bytes = count;
  if (name == "GYRE_SPIN_US") settings.spin_us = count;
  if (name == "GYRE_TIMEOUT_MS") settings.timeout_ms = count;
  if (name == "GYRE_LOG") {
    for (const auto& row : log_levels)
      if (row.name == value) settings.log_level = row.level;
  }
}

Status read_value(Settings& settings, const Variable& variable, std::string_view value) {
  if (value.empty()) return bad_value(variable, value, "is empty");
  std::int64_t number = 0;
  switch (variable.type) {
    case VariableType::integer: {
      const Result<std::int64_t> parsed = parse_integer(variable, value);
      if (!parsed.ok()) return parsed.status();
      number = *parsed;
      break;
    }
    case VariableType::choice:
      if (!is_choice(variable, value)) return bad_value(variable, value, "is not known");
      break;
    case VariableType::text:
      if (static_cast<std::int64_t>(value.size()) > variable.maximum)
        return bad_value(variable, value, "is too long");
      break;
  }
  store(settings, variable.name, value, number);
  return Status();
}

void warn(Settings& settings, std::string message) {
  if (settings.warnings.size() < Settings::warnings_max)
    settings.warnings.push_back(std::move(message));
}

}  // namespace

std::span<const Variable> environment_table() { return table; }

std::string allowed_values(const Variable& variable) {
  switch (variable.type) {
    case VariableType::integer:
      if (variable.multiple_of > 1)
        return fmt::format("{} to {}, in multiples of {}", variable.minimum, variable.maximum,
                           variable.multiple_of);
      return fmt::format("{} to {}", variable.minimum, variable.maximum);
    case VariableType::choice: {
      std::string text;
      for (const char c : variable.choices) c == '|' ? text += ", " : text += c;
      return text;
    }
    case VariableType::text: return fmt::format("text of 1 to {} bytes", variable.maximum);
  }
  return {};
}

Result<Settings> parse_environment(std::span<const char* const> block, bool privileged) {
  Settings settings;
  std::array<std::optional<std::string_view>, std::size(table)> seen{};
  bool ignored = false;
  for (const char* const raw : block.first(std::min(block.size(), entries_max))) {
    const std::string_view entry(raw);
    if (!entry.starts_with(prefix) || entry.starts_with(test_prefix)) continue;
    if (privileged) {
      ignored = true;
      continue;
    }
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = entry.substr(0, equals);
    const std::string_view value = entry.substr(std::min(equals + 1, entry.size()));
    const Variable* variable = find_variable(name);
    if (!variable) {
      warn(settings, unknown_warning(name));
      continue;
    }
    auto& first = seen[static_cast<std::size_t>(variable - table)];
    if (first) {  // as getenv does, the first one counts
      if (*first != value)
        warn(settings, fmt::format("{} is set twice; \"{}\" is used and \"{}\" ignored", name,
                                   shown(*first), shown(value)));
      continue;
    }
    first = value;
    const Status status = read_value(settings, *variable, value);
    if (!status.ok()) return status;
  }
  if (ignored)
    warn(settings,
         "GYRE_ variables are ignored, because this program runs with more rights than "
         "whoever started it");
  return settings;
}

std::span<const char* const> environment_block(const char* const* entries) {
  std::size_t count = 0;
  while (entries && count < entries_max && entries[count]) ++count;
  return {entries, count};
}

}  // namespace gyre
