// The one thread of a Context that waits for the world: sockets, dying processes, deadlines. All
// state of the control plane lives on it, so that nothing there needs a lock: other threads post
// tasks, or run one and wait for it. It sleeps in epoll and costs nothing when nothing happens.
#pragma once

#include <sys/epoll.h>
#include <sys/types.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "base/unique_fd.hpp"

namespace gyre::transport {

/// 128 random bits that tell processes apart where process ids can't (containers).
using ProcessToken = std::array<std::byte, 16>;

/// Tasks and callbacks must not block and must not wait for another thread's lock that is held
/// across run(). They may call everything here. Invalid in a forked child: there run() and post()
/// do nothing.
class ControlThread {
 public:
  using Task = std::function<void()>;
  using OnReady = std::function<void(std::uint32_t events)>;  ///< EPOLLIN, EPOLLOUT, ...
  using WatchId = std::uint64_t;

  /// Names a timer; a default one names none.
  struct Timer {
    Nanoseconds at = 0;
    std::uint64_t number = 0;
    auto operator<=>(const Timer&) const = default;
  };

  /// Starts the thread, named gyre-control, with all signals blocked. system or out_of_resources
  /// when the kernel has no descriptor or thread for it.
  static Result<std::unique_ptr<ControlThread>> start();

  /// Runs what has been posted so far, then ends the thread. Not from the thread itself.
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  // Any thread.

  /// Runs `task` soon; tasks of one thread keep their order.
  void post(Task task);
  /// Runs `task` and returns when it is done; at once when called on the control thread itself.
  void run(const Task& task);
  /// False in a forked child.
  bool in_its_process() const;
  bool is_current() const { return thread_ && std::this_thread::get_id() == thread_->get_id(); }

  /// Calls `on_ready` whenever the borrowed `fd` is ready for `events` (level-triggered) until
  /// unwatch(). Close `fd` only after that.
  Result<WatchId> watch(int fd, std::uint32_t events, OnReady on_ready);
  void change(WatchId watch, std::uint32_t events);
  /// When it returns, the callback is not running (unless this is called from it) and will not run.
  void unwatch(WatchId watch);

  const ProcessToken& process_token() const { return token_; }

  // The control thread only.

  /// Runs `task` once, when `moment` has passed or up to a millisecond later.
  /// Never runs for a deadline that never passes.
  Timer at(Deadline moment, Task task);
  /// Timers that have run are ignored.
  void cancel(Timer timer);

 private:
  struct Watch {
    int fd;
    OnReady on_ready;
  };

  ControlThread();
  Status open();
  void loop();
  bool run_tasks();
  void run_timers();
  int sleep_ms() const;

  const pid_t process_;
  ProcessToken token_ = {};
  UniqueFd epoll_;
  UniqueFd wake_;

  std::mutex mutex_;  // guards tasks_ and stopping_
  std::vector<Task> tasks_;
  bool stopping_ = false;

  // The control thread's own.
  std::unordered_map<WatchId, std::shared_ptr<Watch>> watches_;
  WatchId next_watch_ = 1;
  std::map<Timer, Task> timers_;
  std::uint64_t next_timer_ = 1;

  std::unique_ptr<std::thread> thread_;
};

}  // namespace gyre::transport
