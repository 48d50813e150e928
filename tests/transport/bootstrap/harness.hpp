// What the tests of the control plane share: ranks as threads or processes, raw sockets that play
// strangers, and counts of what must not be left behind.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "transport/bootstrap/group.hpp"
#include "transport/bootstrap/socket.hpp"

namespace gyre::transport::test {

/// Descriptors that a program started by this one would inherit.
inline int count_inheritable() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags != -1 && !(flags & FD_CLOEXEC)) ++count;
  }
  return count;
}

/// Far enough for a loaded machine; only tests of deadlines wait for theirs.
inline Deadline soon(Nanoseconds ms = 20'000) {
  return Deadline::after(monotonic_now(), ms * nanoseconds_per_ms);
}

inline void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Polls until `done` or ten seconds have passed.
inline bool eventually(const std::function<bool()>& done) {
  for (const Deadline end = soon(10'000); !end.passed(monotonic_now()); sleep_ms(1))
    if (done()) return true;
  return done();
}

/// Entries of a folder whose name contains `part`; -1 when it can't be read.
inline int count_entries(const char* path, const char* part = "") {
  DIR* folder = ::opendir(path);
  if (!folder) return -1;
  int count = 0;
  while (const dirent* entry = ::readdir(folder))
    if (std::strstr(entry->d_name, part)) ++count;
  ::closedir(folder);
  return count;
}

inline int count_descriptors() { return count_entries("/proc/self/fd"); }

inline std::unique_ptr<ControlThread> start_control() {
  auto control = ControlThread::start();
  return control.ok() ? std::move(*control) : nullptr;
}

inline std::unique_ptr<Listener> open_listener(ControlThread& control) {
  auto listener = Listener::open(control, "lo");
  return listener.ok() ? std::move(*listener) : nullptr;
}

using Joined = Result<std::unique_ptr<Group>>;

inline Joined join(ControlThread& control, const UniqueId& id, int rank, int size,
                   Deadline deadline = soon(), std::unique_ptr<Listener> listener = nullptr) {
  Group::Request request;
  request.id = id;
  request.rank = rank;
  request.size = size;
  request.deadline = deadline;
  request.listener = std::move(listener);
  return Group::join(control, std::move(request));
}

/// All ranks as threads that share one control thread; started in `order`.
inline std::vector<std::unique_ptr<Group>> join_threads(ControlThread& control,
                                                        std::vector<int> order) {
  auto listener = open_listener(control);
  const UniqueId id = listener->id();
  const int size = static_cast<int>(order.size());
  std::vector<std::unique_ptr<Group>> groups(order.size());
  std::vector<std::thread> threads;
  for (const int rank : order)
    threads.emplace_back([&, rank] {
      auto joined =
          join(control, id, rank, size, soon(), rank == 0 ? std::move(listener) : nullptr);
      if (joined.ok()) groups[static_cast<std::size_t>(rank)] = std::move(*joined);
    });
  for (auto& thread : threads) thread.join();
  return groups;
}

inline std::vector<int> in_order(int size) {
  std::vector<int> order(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) order[static_cast<std::size_t>(rank)] = rank;
  return order;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// A rank in a process of its own, forked before this process has threads that matter to it. `main`
/// gives the exit status. Killed and reaped on destruction.
class Child {
 public:
  explicit Child(const std::function<int()>& main) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(main());
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }

  pid_t pid() const { return pid_; }
  void kill(int signal) const { ::kill(pid_, signal); }
  /// Exit status, or -signal.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

/// A pipe for one small value from a child.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends = {-1, -1};
    if (::pipe(ends.data()) == 0) {
      read.reset(ends[0]);
      write.reset(ends[1]);
    }
  }
  UniqueFd read;
  UniqueFd write;
};

/// A socket that has connected to `address`, as a stranger would.
inline UniqueFd connect_raw(const SocketAddress& address) {
  auto connecting = connect_to(address);
  pollfd ready = {connecting.socket.get(), POLLOUT, 0};
  ::poll(&ready, 1, 10'000);
  if (connect_outcome(connecting.socket.get()) != 0) return {};
  return std::move(connecting.socket);
}

/// Reads exactly `count` bytes within `timeout_ms`; fewer when the other end closes.
inline std::vector<std::byte> read_raw(int socket, std::size_t count, int timeout_ms = 10'000) {
  std::vector<std::byte> bytes;
  const Deadline end = soon(timeout_ms);
  while (bytes.size() < count && !end.passed(monotonic_now())) {
    pollfd ready = {socket, POLLIN, 0};
    ::poll(&ready, 1, 50);
    std::byte byte;
    const ssize_t got = ::recv(socket, &byte, 1, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) break;
    if (got == 1) bytes.push_back(byte);
  }
  return bytes;
}

inline void write_raw(int socket, std::span<const std::byte> bytes) {
  std::ignore = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

}  // namespace gyre::transport::test
