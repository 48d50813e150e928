#include "transport/bootstrap/control_thread.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/hmac.hpp"
#include "transport/bootstrap/completion.hpp"

namespace gyre::transport {
namespace {

constexpr int events_per_turn_max = 64;
constexpr Nanoseconds sleep_max_ms = 60'000;  // only bounds the arithmetic; sleeping again is free
constexpr ControlThread::WatchId wake_watch = 0;

}  // namespace

ControlThread::ControlThread() : process_(::getpid()) {}

Result<std::unique_ptr<ControlThread>> ControlThread::start() {
  std::unique_ptr<ControlThread> control(new ControlThread());
  if (auto status = control->open(); !status) return status.within("control thread");
  return control;
}

Status ControlThread::open() {
  if (auto status = fill_random(token_); !status) return status;
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error("epoll_create1", errno);
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return system_error("eventfd", errno);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = wake_watch;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0)
    return system_error("epoll_ctl", errno);

  // The new thread inherits the mask: the program's signal handlers must not run on it.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status;
  try {
    thread_ = std::make_unique<std::thread>([this] { loop(); });
    ::pthread_setname_np(thread_->native_handle(), "gyre-control");
  } catch (const std::system_error& error) {
    status = Status(Code::out_of_resources,
                    fmt::format("no thread can be started: {}; raise the limit on processes "
                                "(ulimit -u, or the container's pids.max)",
                                error.what()));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

ControlThread::~ControlThread() {
  if (!thread_) return;
  if (!in_its_process()) {
    // A forked child has the handle but not the thread: it can be neither joined nor detached.
    static_cast<void>(thread_.release());
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_->join();
}

bool ControlThread::in_its_process() const { return ::getpid() == process_; }

void ControlThread::post(Task task) {
  if (!in_its_process()) return;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = tasks_.empty();
    tasks_.push_back(std::move(task));
  }
  if (first) ::eventfd_write(wake_.get(), 1);
}

void ControlThread::run(const Task& task) {
  if (is_current()) {
    task();
    return;
  }
  if (!in_its_process()) return;
  const auto done = std::make_shared<Completion<bool>>();
  post([&task, done] {
    task();
    done->set(true);
  });
  done->wait();
}

Result<ControlThread::WatchId> ControlThread::watch(int fd, std::uint32_t events,
                                                    OnReady on_ready) {
  Result<WatchId> result = Status(Code::internal, "this context is of a process that has forked");
  run([&] {
    const WatchId id = next_watch_++;
    epoll_event event = {};
    event.events = events;
    event.data.u64 = id;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      result = system_error("epoll_ctl", errno);
      return;
    }
    watches_.emplace(id, std::make_shared<Watch>(Watch{fd, std::move(on_ready)}));
    result = id;
  });
  return result;
}

void ControlThread::change(WatchId watch, std::uint32_t events) {
  run([&] {
    const auto found = watches_.find(watch);
    if (found == watches_.end()) return;
    epoll_event event = {};
    event.events = events;
    event.data.u64 = watch;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second->fd, &event);
  });
}

void ControlThread::unwatch(WatchId watch) {
  run([&] {
    const auto found = watches_.find(watch);
    if (found == watches_.end()) return;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->fd, nullptr);
    watches_.erase(found);
  });
}

ControlThread::Timer ControlThread::at(Deadline moment, Task task) {
  if (moment.never()) return {};
  const Timer timer{moment.at(), next_timer_++};
  timers_.emplace(timer, std::move(task));
  return timer;
}

void ControlThread::cancel(Timer timer) { timers_.erase(timer); }

void ControlThread::loop() {
  epoll_event events[events_per_turn_max];
  for (bool running = true; running;) {
    const int count = ::epoll_wait(epoll_.get(), events, events_per_turn_max, sleep_ms());
    for (int i = 0; i < count; ++i) {
      const epoll_event event = events[i];
      if (event.data.u64 == wake_watch) {
        eventfd_t ignored;
        ::eventfd_read(wake_.get(), &ignored);
        continue;
      }
      // An earlier callback of this turn may have ended this watch; ids are never used again. The
      // copy keeps the callback alive while it ends its own.
      const auto found = watches_.find(event.data.u64);
      if (found == watches_.end()) continue;
      const std::shared_ptr<Watch> watch = found->second;
      watch->on_ready(event.events);
    }
    run_timers();
    running = run_tasks();
  }
}

bool ControlThread::run_tasks() {
  std::vector<Task> tasks;
  bool stopping = false;
  do {
    tasks.clear();
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
      stopping = stopping_;
    }
    for (const Task& task : tasks) task();
  } while (stopping && !tasks.empty());
  return !stopping;
}

void ControlThread::run_timers() {
  if (timers_.empty()) return;
  const Nanoseconds now = monotonic_now();
  // At most as many as there were, so that timers which set new ones can't keep the thread here.
  for (std::size_t left = timers_.size(); left > 0 && !timers_.empty(); --left) {
    if (timers_.begin()->first.at > now) break;
    const auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

int ControlThread::sleep_ms() const {
  if (timers_.empty()) return -1;
  const Nanoseconds left = Deadline(timers_.begin()->first.at).left(monotonic_now());
  const Nanoseconds rounded_up = (left + nanoseconds_per_ms - 1) / nanoseconds_per_ms;
  return static_cast<int>(std::min(rounded_up, sleep_max_ms));
}

}  // namespace gyre::transport
