// Starts the ranks of one peer as gyre-bench does, and speaks bench/protocol.hpp to them: just
// enough of a coordinator to test the programs under bench/peers.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "bench/protocol.hpp"

namespace gyre::bench::test {

inline constexpr std::chrono::seconds start_time_max{60};
inline constexpr std::chrono::seconds end_time_max{30};

inline nlohmann::json peers_json() {
  std::ifstream file(std::string(GYRE_PEERS_FOLDER) + "/peers.json");
  return nlohmann::json::parse(file);
}

/// Polls `condition` until it holds; false after `limit`.
template <typename Condition>
bool becomes_true(std::chrono::milliseconds limit, Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

inline std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored))
    names.insert(entry.path().string());
  return names;
}

/// What /proc/PID/stat says after the program's name, "" if the process is gone.
inline std::string stat_fields(pid_t pid) {
  std::ifstream file(std::string("/proc/").append(std::to_string(pid)).append("/stat"));
  std::string line;
  std::getline(file, line);
  const auto at = line.rfind(") ");
  return at == std::string::npos ? "" : line.substr(at + 2);
}

/// A scratch folder, for the peer's own temporary files too.
class Scratch {
 public:
  Scratch() {
    std::string name = "/tmp/gyre-peers-XXXXXX";
    REQUIRE(::mkdtemp(name.data()));
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class PeerProcess {
 public:
  /// Starts `ranks` ranks and waits for their hellos. Skips the test if the peer was not built.
  PeerProcess(const std::string& peer, int ranks, const std::string& variant = "default",
              const std::vector<std::string>& words = {})
      : peer_(peer), name_("gyre-peer-test-" + std::to_string(::getpid())) {
    const nlohmann::json entry = peers_json().at(peer);
    if (!entry.contains("program"))
      SKIP(peer << " is not installed; " << entry.at("install").get<std::string>());
    listen();
    start(entry, ranks, variant, words);
    connections_.resize(static_cast<unsigned>(ranks));
    pids_.resize(connections_.size());
    for (int i = 0; i < ranks; ++i) accept_one();
    listener_.reset();
  }

  ~PeerProcess() {
    disconnect();
    for (const pid_t child : children_) {
      if (!wait_for(child)) ::kill(child, SIGKILL), ::waitpid(child, nullptr, 0);
    }
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  int ranks() const { return static_cast<int>(connections_.size()); }
  const std::vector<pid_t>& pids() const { return pids_; }
  const Scratch& temporary() const { return temporary_; }

  void send(unsigned rank, const Command& command) {
    REQUIRE(write_all(connections_[rank].get(), &command, sizeof command));
  }

  Reply receive(unsigned rank) {
    Reply reply;
    INFO(peer_ << " rank " << rank << "; output: " << read_output());
    REQUIRE(read_all(connections_[rank].get(), &reply, sizeof reply));
    REQUIRE(std::string(defect(reply)).empty());
    return reply;
  }

  /// Gives every rank the command; their replies.
  std::vector<Reply> order(const Command& command) {
    std::vector<Reply> replies(connections_.size());
    for (unsigned i = 0; i < replies.size(); ++i) send(i, command);
    for (unsigned i = 0; i < replies.size(); ++i) replies[i] = receive(i);
    return replies;
  }

  void quit() {
    for (unsigned i = 0; i < connections_.size(); ++i) send(i, Command{});
  }
  /// What the ranks see when the coordinator dies.
  void disconnect() {
    for (auto& connection : connections_) connection.reset();
  }

  /// The exit codes of what was started, -1 for one that was killed or did not end.
  std::vector<int> exit_codes() {
    std::vector<int> codes;
    for (const pid_t child : children_) {
      const auto status = wait_for(child);
      codes.push_back(status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1);
    }
    children_.clear();
    return codes;
  }

  bool all_ranks_gone() const {
    return becomes_true(end_time_max, [&] {
      for (const pid_t pid : pids_)
        if (::kill(pid, 0) == 0 && state_of(pid) != 'Z') return false;
      return true;
    });
  }

  /// The state letter of a process's main thread, '?' if it is gone.
  static char state_of(pid_t pid) {
    const std::string fields = stat_fields(pid);
    return fields.empty() ? '?' : fields[0];
  }

  std::string read_output() const {
    std::ifstream file(scratch_.path() + "/output");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  void listen() {
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    socklen_t length = 0;
    static int serial = 0;
    name_.append("-").append(std::to_string(++serial));
    const sockaddr_un address = abstract_address(name_, &length);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
    REQUIRE(::listen(listener_.get(), helper_ranks_max) == 0);
  }

  void start(const nlohmann::json& entry, int ranks, const std::string& variant,
             const std::vector<std::string>& words) {
    std::map<std::string, std::string> environment = entry.at("environment");
    if (ranks > static_cast<int>(std::thread::hardware_concurrency()))
      for (const auto& [name, value] : entry.at("oversubscribed").at("environment").items())
        environment[name] = value;
    environment["TMPDIR"] = temporary_.path();
    std::vector<std::string> command = entry.at("launcher");
    for (auto& word : command)
      if (word == "{ranks}") word = std::to_string(ranks);
    for (const auto& word : words) {
      const auto equals = word.find('=');
      if (equals == std::string::npos || word[0] == '-')
        command.push_back(word);
      else
        environment[word.substr(0, equals)] = word.substr(equals + 1);
    }
    const bool has_launcher = !command.empty();
    command.push_back(std::string(GYRE_PEERS_FOLDER) + "/" +
                      entry.at("program").get<std::string>());
    for (const auto& word : {std::string("--socket"), name_, std::string("--variant"), variant})
      command.push_back(word);
    if (has_launcher) return spawn(command, environment);
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::string> own = command;
      for (const auto& word : {std::string("--rank"), std::to_string(rank), std::string("--size"),
                               std::to_string(ranks), std::string("--directory"), scratch_.path()})
        own.push_back(word);
      spawn(own, environment);
    }
  }

  void spawn(std::vector<std::string> command, const std::map<std::string, std::string>& extra) {
    std::vector<std::string> variables;
    for (char** at = environ; *at; ++at) {
      const std::string variable = *at;
      if (!extra.contains(variable.substr(0, variable.find('=')))) variables.push_back(variable);
    }
    for (const auto& [name, value] : extra) variables.push_back(name + "=" + value);
    const auto pointers = [](std::vector<std::string>& words) {
      std::vector<char*> result;
      for (auto& word : words) result.push_back(word.data());
      result.push_back(nullptr);
      return result;
    };
    auto argv = pointers(command);
    auto envp = pointers(variables);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    const std::string output = scratch_.path() + "/output";
    ::posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                       0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = -1;
    const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), envp.data());
    ::posix_spawn_file_actions_destroy(&actions);
    INFO("starting " << command[0]);
    REQUIRE(error == 0);
    children_.push_back(child);
  }

  void accept_one() {
    pollfd ready{listener_.get(), POLLIN, 0};
    const auto limit = std::chrono::milliseconds(start_time_max).count();
    const bool arrived = ::poll(&ready, 1, static_cast<int>(limit)) == 1;
    INFO(peer_ << " did not start; output: " << read_output());
    REQUIRE(arrived);
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const timeval limit_of_reads{60, 0};
    ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit_of_reads, sizeof limit_of_reads);
    Hello hello;
    REQUIRE(read_all(connection.get(), &hello, sizeof hello));
    REQUIRE(std::string(defect(hello)).empty());
    CHECK(std::string(hello.library) == peer_);
    CHECK(hello.size == ranks());
    const auto rank = static_cast<unsigned>(hello.rank);
    REQUIRE(connections_.at(rank).get() < 0);
    connections_[rank] = std::move(connection);
    pids_[rank] = hello.pid;
  }

  static std::optional<int> wait_for(pid_t child) {
    int status = 0;
    const bool ended =
        becomes_true(end_time_max, [&] { return ::waitpid(child, &status, WNOHANG) == child; });
    return ended ? std::optional(status) : std::nullopt;
  }

  std::string peer_;
  std::string name_;
  Scratch scratch_;
  Scratch temporary_;
  UniqueFd listener_;
  std::vector<UniqueFd> connections_;
  std::vector<pid_t> pids_;
  std::vector<pid_t> children_;
};

}  // namespace gyre::bench::test
