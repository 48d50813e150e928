// Starting programs so that none of them outlives gyre-bench: own process group, death signal, and
// a log file that nobody has to clean up.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/unique_fd.hpp"

namespace gyre::bench {

struct ChildCommand {
  std::vector<std::string> arguments;              ///< the first is looked up in PATH
  std::map<std::string, std::string> environment;  ///< added to the own one
  std::string folder;                              ///< working directory; "" keeps the own one
  int log_fd = -1;                                 ///< its stdout and stderr; -1: /dev/null
};

/// Starts it as the leader of a process group. It dies with the calling thread, has /dev/null as
/// stdin and no signal blocked. An error says why exec failed.
Result<pid_t> start_child(const ChildCommand& command);

/// Starts it and waits; its exit code, or an error if it was killed or lasted longer than
/// timeout_ms.
Result<int> run_child(const ChildCommand& command, std::uint32_t timeout_ms);

/// Processes below `root` (not itself), by the parent links in /proc at this moment.
std::vector<pid_t> descendants(pid_t root);

/// Makes orphans of our children our own, so that descendants() finds them.
Status adopt_orphans();

/// Waits up to `timeout_ms` for all of `children`, reaping them; then kills their groups and all of
/// our own descendants among `also`, and reaps.
void end_children(const std::vector<pid_t>& children, const std::vector<pid_t>& also,
                  std::uint32_t timeout_ms);

/// True if `pid`, a child of ours, has ended; it is left for end_children to reap.
bool has_ended(pid_t pid);

/// CPU nanoseconds of all threads, past ones too, of `pid`; 0 if it is gone.
std::uint64_t cpu_time_ns(pid_t pid);

/// The CPUs this process may run on.
std::vector<int> allowed_cpus();

/// A temporary folder, removed with all that is in it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make(const std::string& parent);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// What lies in /dev/shm. MPI libraries that are killed leave their segments there.
class SharedMemoryNames {
 public:
  explicit SharedMemoryNames(std::string folder = "/dev/shm");
  /// Removes what has come since, is the user's own, and is mapped or open in no process.
  void remove_new() const;

 private:
  std::string folder_;
  std::vector<std::string> before_;
};

}  // namespace gyre::bench
