// The log of one Context: lines on stderr for people who run gyre. Libraries print nowhere else.
// Everything that is logged is also either an error returned to the caller or not needed by it.
//
// A disabled level costs one comparison and formats nothing. Lines are bounded in length, and their
// number is bounded for the life of the log; where one place may speak often, put LogLimit before
// it.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace gyre {

enum class LogLevel : std::uint8_t { error = 0, warn = 1, info = 2, debug = 3 };

struct LogLevelInfo {
  LogLevel level;
  std::string_view name;
};

inline constexpr LogLevelInfo log_levels[] = {
    {LogLevel::error, "error"},
    {LogLevel::warn, "warn"},
    {LogLevel::info, "info"},
    {LogLevel::debug, "debug"},
};

constexpr std::string_view name_of(LogLevel level) {
  return log_levels[static_cast<std::size_t>(level)].name;
}

/// A cheap handle; copies write to the same place. All calls are safe from any thread.
class Log {
 public:
  static constexpr int no_rank = -1;
  static constexpr std::size_t line_bytes_max = 4096;  ///< longer lines are cut and say so
  static constexpr std::uint64_t lines_max = 100'000;  ///< then one line says that no more follow

  /// Receives finished lines without newline, one at a time.
  using Writer = std::function<void(std::string_view line)>;

  /// To stderr, with UTC time and process id before each line.
  explicit Log(LogLevel level);
  /// To `writer`, without them.
  Log(LogLevel level, Writer writer);

  /// The same log with "rank `rank`: " before each message.
  Log of_rank(int rank) const;

  LogLevel level() const { return level_; }
  bool enabled(LogLevel level) const { return level <= level_; }

  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::error, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::warn, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::info, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::debug, format, std::forward<Args>(args)...);
  }

 private:
  class Output;

  template <typename... Args>
  void write(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(level)) write_formatted(level, format, fmt::make_format_args(args...));
  }
  void write_formatted(LogLevel level, fmt::string_view format, fmt::format_args args) const;

  LogLevel level_;
  int rank_ = no_rank;
  std::shared_ptr<Output> output_;
};

/// Thins a message that may repeat: says yes the first 8 times, then at each power of two.
/// `if (limit.allow()) log.warn("... ({} times)", limit.count());` Any thread.
class LogLimit {
 public:
  bool allow() {
    const std::uint64_t count = count_.fetch_add(1, std::memory_order_relaxed) + 1;
    return count <= 8 || (count & (count - 1)) == 0;
  }
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace gyre
