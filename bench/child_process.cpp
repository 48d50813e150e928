#include "bench/child_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/clock.hpp"

namespace gyre::bench {
namespace {

constexpr std::uint32_t reap_step_ms = 2;
constexpr std::size_t arguments_max = 512;

void sleep_ms(std::uint32_t ms) {
  const timespec time{ms / 1000, static_cast<long>(ms % 1000) * 1'000'000};
  ::nanosleep(&time, nullptr);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (auto& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

/// Our environment with `added` in place of variables of the same name.
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> words;
  for (char** entry = environ; *entry; ++entry) {
    const std::string word = *entry;
    if (!added.contains(word.substr(0, word.find('=')))) words.push_back(word);
  }
  for (const auto& [name, value] : added) words.push_back(name + "=" + value);
  return words;
}

/// Between fork and exec: only what is safe there.
[[noreturn]] void become(const ChildCommand& command, char** arguments, char** environment,
                         pid_t parent, int report_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int log_fd = command.log_fd >= 0 ? command.log_fd : null_fd;
  const bool folder_ok = command.folder.empty() || ::chdir(command.folder.c_str()) == 0;
  if (folder_ok && null_fd >= 0 && ::dup2(null_fd, 0) == 0 && ::dup2(log_fd, 1) == 1 &&
      ::dup2(log_fd, 2) == 2)
    ::execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report_fd, &error, sizeof error);
  ::_exit(127);
}

/// Parent of `pid`, or -1.
pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return -1;
  // "pid (name) state ppid": the name may hold anything, so look behind its last bracket.
  const auto bracket = text.rfind(')');
  if (bracket == std::string::npos || bracket + 4 >= text.size()) return -1;
  return static_cast<pid_t>(std::strtol(text.c_str() + bracket + 4, nullptr, 10));
}

bool in_use(const std::string& path) {
  std::error_code ignored;
  for (const auto& process : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = process.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream maps(process.path() / "maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find(path) != std::string::npos) return true;
    std::error_code closed;
    for (const auto& fd : std::filesystem::directory_iterator(process.path() / "fd", closed)) {
      std::error_code gone;
      if (std::filesystem::read_symlink(fd.path(), gone).string() == path) return true;
    }
  }
  return false;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<pid_t> start_child(const ChildCommand& command) {
  if (command.arguments.empty() || command.arguments.size() > arguments_max)
    return Status(Code::invalid_argument, "a program to start needs 1 to 512 words");
  std::vector<std::string> words = command.arguments;
  std::vector<std::string> variables = merged_environment(command.environment);
  auto arguments = pointers(words);
  auto environment = pointers(variables);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return system_error("pipe2", errno);
  UniqueFd report_read(report[0]);
  UniqueFd report_write(report[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork", errno);
  if (pid == 0) become(command, arguments.data(), environment.data(), parent, report_write.get());
  report_write.reset();
  int error = 0;
  ssize_t got = 0;
  do got = ::read(report_read.get(), &error, sizeof error);
  while (got < 0 && errno == EINTR);
  if (got != sizeof error) return pid;
  ::waitpid(pid, nullptr, 0);
  return system_error("starting " + words[0], error);
}

Result<int> run_child(const ChildCommand& command, std::uint32_t timeout_ms) {
  const auto pid = start_child(command);
  if (!pid) return pid.status();
  const auto deadline =
      Deadline::after(monotonic_now(), static_cast<Nanoseconds>(timeout_ms) * nanoseconds_per_ms);
  while (!has_ended(*pid) && !deadline.passed(monotonic_now())) sleep_ms(reap_step_ms);
  ::kill(-*pid, SIGKILL);
  int state = 0;
  ::waitpid(*pid, &state, 0);
  if (WIFEXITED(state)) return WEXITSTATUS(state);
  return Status(Code::timeout, fmt::format("{} was killed by signal {}, or after {} ms",
                                           command.arguments[0], WTERMSIG(state), timeout_ms));
}

std::vector<pid_t> descendants(pid_t root) {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const auto& name : names_in("/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10));
    children[parent_of(pid)].push_back(pid);
  }
  std::vector<pid_t> found = children[root];
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const pid_t child : children[found[i]]) found.push_back(child);
  return found;
}

Status adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return {};
  return system_error("prctl(PR_SET_CHILD_SUBREAPER)", errno);
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

void end_children(const std::vector<pid_t>& children, const std::vector<pid_t>& also,
                  std::uint32_t timeout_ms) {
  const auto deadline =
      Deadline::after(monotonic_now(), static_cast<Nanoseconds>(timeout_ms) * nanoseconds_per_ms);
  const auto running = [&] { return !std::all_of(children.begin(), children.end(), has_ended); };
  while (running() && !deadline.passed(monotonic_now())) sleep_ms(reap_step_ms);
  // Unreaped, an ended leader still holds its group's number: nobody else's group is hit.
  for (const pid_t child : children) ::kill(-child, SIGKILL);
  const std::set<pid_t> wanted(also.begin(), also.end());
  for (const pid_t pid : descendants(::getpid()))
    if (wanted.contains(pid)) ::kill(pid, SIGKILL);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  // Grandchildren are ours to reap only after their parents are gone.
  for (const pid_t pid : descendants(::getpid()))
    if (wanted.contains(pid)) ::waitpid(pid, nullptr, 0);
}

std::uint64_t cpu_time_ns(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

Result<ScratchFolder> ScratchFolder::make(const std::string& parent) {
  std::string path = parent + "/gyre-bench-XXXXXX";
  if (!::mkdtemp(path.data())) return system_error("making a folder in " + parent, errno);
  return ScratchFolder(path);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

SharedMemoryNames::SharedMemoryNames(std::string folder)
    : folder_(std::move(folder)), before_(names_in(folder_)) {}

void SharedMemoryNames::remove_new() const {
  for (const auto& name : names_in(folder_)) {
    if (std::binary_search(before_.begin(), before_.end(), name)) continue;
    const std::string path = folder_ + "/" + name;
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid() || in_use(path)) continue;
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace gyre::bench
