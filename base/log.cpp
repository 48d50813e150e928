#include "base/log.hpp"

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <iterator>
#include <mutex>
#include <string>

namespace gyre {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::debug: return spdlog::level::debug;
  }
  return spdlog::level::err;
}

/// Hands lines to a function, for tests and for programs that have a log of their own.
class WriterSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit WriterSink(Log::Writer writer) : writer_(std::move(writer)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    writer_(std::string_view(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  Log::Writer writer_;
};

/// Only what a sink needs: no registry, no thread, no logger object, so that it costs microseconds.
std::unique_ptr<spdlog::sinks::sink> stderr_sink() {
  auto sink = std::make_unique<spdlog::sinks::stderr_sink_mt>();
  sink->set_formatter(std::make_unique<spdlog::pattern_formatter>("%H:%M:%S.%fZ [%P] %v",
                                                                  spdlog::pattern_time_type::utc));
  return sink;
}

}  // namespace

class Log::Output {
 public:
  explicit Output(std::unique_ptr<spdlog::sinks::sink> sink) : sink_(std::move(sink)) {}

  void write(LogLevel level, std::string_view line) {
    const std::uint64_t before = lines_.fetch_add(1, std::memory_order_relaxed);
    if (before > lines_max) return;
    if (before == lines_max) line = "gyre warn: too many log lines; no more will follow";
    const spdlog::details::log_msg message(spdlog::string_view_t(), to_spdlog(level),
                                           spdlog::string_view_t(line.data(), line.size()));
    sink_->log(message);
    sink_->flush();
  }

 private:
  std::unique_ptr<spdlog::sinks::sink> sink_;
  std::atomic<std::uint64_t> lines_{0};
};

Log::Log(LogLevel level) : level_(level), output_(std::make_shared<Output>(stderr_sink())) {}

Log::Log(LogLevel level, Writer writer)
    : level_(level),
      output_(std::make_shared<Output>(std::make_unique<WriterSink>(std::move(writer)))) {}

Log Log::of_rank(int rank) const {
  Log copy = *this;
  copy.rank_ = rank;
  return copy;
}

void Log::write_formatted(LogLevel level, fmt::string_view format, fmt::format_args args) const {
  std::string line = fmt::format("gyre {}: ", name_of(level));
  if (rank_ != no_rank) fmt::format_to(std::back_inserter(line), "rank {}: ", rank_);
  fmt::vformat_to(std::back_inserter(line), format, args);
  if (line.size() > line_bytes_max) {
    constexpr std::string_view cut = " [cut]";
    line.resize(line_bytes_max - cut.size());
    line += cut;
  }
  output_->write(level, line);
}

}  // namespace gyre
