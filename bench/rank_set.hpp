// All rank processes of one library and variant: started once, then given orders. Whatever happens,
// none of its processes is left when it is gone.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/unique_fd.hpp"
#include "bench/child_process.hpp"
#include "bench/interrupt.hpp"
#include "bench/side.hpp"

namespace gyre::bench {

/// How to start one.
struct RankSetPlan {
  std::string library;
  std::string variant = "default";
  int ranks = 1;
  /// The launcher's words and the program; the helper's arguments are added behind.
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  /// No launcher: the command is started once per rank, with --rank, --size and --directory.
  bool one_command_per_rank = false;
  /// Its library has threads that wake up by themselves: between two orders its processes are
  /// stopped (SIGSTOP).
  bool stop_between_orders = false;
  /// The cpus that ranks are bound to, one each; empty: none are.
  std::vector<int> cpus;
  std::string scratch;  ///< an existing folder for this set alone
  std::uint32_t turn_timeout_ms = 60'000;
};

inline constexpr std::uint32_t start_timeout_ms = 60'000;
inline constexpr std::uint32_t quit_timeout_ms = 5'000;
/// What the coordinator grants beyond the helper's own deadline.
inline constexpr std::uint32_t grace_ms = 3'000;

class RankSet final : public Side {
 public:
  /// Starts the processes and waits for all hellos. `interrupt` must outlive the set.
  static Result<std::unique_ptr<RankSet>> start(const RankSetPlan& plan,
                                                const Interrupt& interrupt);
  ~RankSet() override;
  RankSet(const RankSet&) = delete;
  RankSet& operator=(const RankSet&) = delete;

  std::string label() const override;
  const std::string& variant() const { return plan_.variant; }
  const std::string& version() const { return version_; }
  std::uint64_t cpu_ns() const override;
  Status prepare(const Operation& operation) override;
  Result<TurnFigure> turn(const TurnOrder& order) override;

  Status release();
  /// Self-test: the last rank damages its output from now on.
  void flip_bits(bool on) { flip_bits_ = on; }
  /// Self-test: rank 0 burns CPU until this set's next order.
  Status spin();
  /// False after an error: its processes may be stuck.
  bool usable() const { return usable_; }

 private:
  RankSet(const RankSetPlan& plan, const Interrupt& interrupt);
  Status listen();
  Status start_processes();
  Status accept_all();
  Status accept_one();
  Status pin();
  void signal_processes(int signal) const;
  Result<std::vector<Reply>> order(std::span<const Command> commands, std::uint32_t timeout_ms);
  Result<std::vector<Reply>> order_all(const Command& command, std::uint32_t timeout_ms);
  Status failed(Code code, const std::string& what, int rank);
  std::string log_tail() const;

  RankSetPlan plan_;
  const Interrupt& interrupt_;
  std::string socket_name_;
  UniqueFd listener_;
  UniqueFd log_;
  std::vector<pid_t> children_;    ///< launchers, or ranks where there is none
  std::vector<pid_t> processes_;   ///< all, launchers and their descendants
  std::vector<UniqueFd> sockets_;  ///< by rank
  std::string version_;
  bool flip_bits_ = false;
  bool usable_ = true;
};

}  // namespace gyre::bench
