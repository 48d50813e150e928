// One line that says what is being done, rewritten in place; only on a terminal.
#pragma once

#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace gyre::bench {

class Progress {
 public:
  explicit Progress(FILE* out) : out_(out), on_(::isatty(::fileno(out)) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view text) {
    if (!on_) return;
    fmt::print(out_, "\r\033[K{}", text.substr(0, columns_max));
    std::fflush(out_);
    shown_ = true;
  }

  /// Before anything else is printed.
  void clear() {
    if (!shown_) return;
    fmt::print(out_, "\r\033[K");
    std::fflush(out_);
    shown_ = false;
  }

 private:
  static constexpr std::size_t columns_max = 78;
  FILE* out_;
  bool on_;
  bool shown_ = false;
};

}  // namespace gyre::bench
