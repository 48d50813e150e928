// The one owner of a file descriptor. A plain `int fd` elsewhere in gyre is a borrowed one.
#pragma once

#include <unistd.h>

#include <utility>

namespace gyre {

/// Move-only; closes on destruction. Not synchronised.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  /// Gives the descriptor away; this one is then empty.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  /// Closes what is held and takes `fd`. close() is not retried: on Linux the descriptor is gone
  /// even when it returns EINTR.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace gyre
