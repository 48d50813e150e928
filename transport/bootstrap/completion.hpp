// How the control thread hands one value to a thread that waits for it. There is no time-out here:
// the control thread keeps the deadline and completes with an error when it passes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace gyre::transport {

/// Held by shared_ptr on both sides, so that neither can go while the other still touches it.
template <typename T>
class Completion {
 public:
  /// The first value counts.
  void set(T value) {
    const std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(std::move(value));
    changed_.notify_all();
  }

  /// Blocks until there is a value; once.
  T wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return value_.has_value(); });
    return std::move(*value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

}  // namespace gyre::transport
