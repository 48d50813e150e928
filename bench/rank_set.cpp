#include "bench/rank_set.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "bench/helper.hpp"

namespace gyre::bench {
namespace {

constexpr int poll_slice_ms = 100;
constexpr std::size_t log_tail_bytes = 1500;
constexpr std::uint32_t pin_timeout_ms = 10'000;

}  // namespace

RankSet::RankSet(const RankSetPlan& plan, const Interrupt& interrupt)
    : plan_(plan), interrupt_(interrupt), sockets_(static_cast<unsigned>(plan.ranks)) {}

RankSet::~RankSet() {
  Command quit;
  quit.order = Order::quit;
  if (plan_.stop_between_orders) signal_processes(SIGCONT);
  for (const auto& socket : sockets_)
    if (socket && usable_) (void)write_all(socket.get(), &quit, sizeof quit);
  sockets_.clear();
  end_children(children_, processes_, usable_ ? quit_timeout_ms : 0);
}

Result<std::unique_ptr<RankSet>> RankSet::start(const RankSetPlan& plan,
                                                const Interrupt& interrupt) {
  std::unique_ptr<RankSet> set(new RankSet(plan, interrupt));
  for (const auto step :
       {&RankSet::listen, &RankSet::start_processes, &RankSet::accept_all, &RankSet::pin})
    if (auto status = ((*set).*step)(); !status) {
      set->usable_ = false;
      return status;
    }
  return set;
}

std::string RankSet::label() const {
  return plan_.variant == "default" ? plan_.library
                                    : fmt::format("{} ({})", plan_.library, plan_.variant);
}

Status RankSet::listen() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    return system_error("getrandom", errno);
  socket_name_ = fmt::format("gyre-bench-{}-{:016x}", ::getpid(), random);
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(socket_name_, &length);
  listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_ ||
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.get(), helper_ranks_max) != 0)
    return system_error("listening for rank processes", errno);
  log_.reset(::memfd_create("gyre-bench-log", MFD_CLOEXEC));
  return log_ ? Status() : system_error("memfd_create", errno);
}

Status RankSet::start_processes() {
  ChildCommand command;
  command.environment = plan_.environment;
  if (!plan_.scratch.empty()) command.environment.emplace("TMPDIR", plan_.scratch);
  command.log_fd = log_.get();
  const int copies = plan_.one_command_per_rank ? plan_.ranks : 1;
  for (int rank = 0; rank < copies; ++rank) {
    command.arguments = plan_.command;
    for (const std::string& word :
         {std::string("--socket"), socket_name_, std::string("--variant"), plan_.variant})
      command.arguments.push_back(word);
    if (plan_.one_command_per_rank)
      for (const std::string& word :
           {std::string("--rank"), std::to_string(rank), std::string("--size"),
            std::to_string(plan_.ranks), std::string("--directory"), plan_.scratch})
        command.arguments.push_back(word);
    const auto pid = start_child(command);
    if (!pid) return pid.status().within(label());
    children_.push_back(*pid);
  }
  return {};
}

Status RankSet::accept_all() {
  const auto deadline = Deadline::after(monotonic_now(), start_timeout_ms * nanoseconds_per_ms);
  int accepted = 0;
  while (accepted < plan_.ranks) {
    pollfd fds[2] = {{listener_.get(), POLLIN, 0}, {interrupt_.fd(), POLLIN, 0}};
    if (::poll(fds, 2, poll_slice_ms) < 0 && errno != EINTR) return system_error("poll", errno);
    if (fds[1].revents) return {Code::aborted, "interrupted"};
    if (fds[0].revents) {
      if (auto status = accept_one(); !status) return status;
      ++accepted;
      continue;
    }
    if (std::any_of(children_.begin(), children_.end(), has_ended))
      return failed(Code::peer_failed, "a process ended before it said hello", Status::no_rank);
    if (deadline.passed(monotonic_now()))
      return failed(Code::timeout,
                    fmt::format("{} of {} ranks said hello within {} s", accepted, plan_.ranks,
                                start_timeout_ms / 1000),
                    Status::no_rank);
  }
  listener_.reset();
  processes_ = children_;
  for (const pid_t child : children_)
    for (const pid_t pid : descendants(child)) processes_.push_back(pid);
  return {};
}

Status RankSet::accept_one() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) return system_error("accept", errno);
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return system_error("getsockopt(SO_PEERCRED)", errno);
  if (peer.uid != ::geteuid())
    return {Code::refused, "another user's process connected to gyre-bench's socket"};
  const timeval timeout{5, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  Hello hello;
  if (!read_all(socket.get(), &hello, sizeof hello))
    return failed(Code::peer_failed, "a rank closed its connection before its hello",
                  Status::no_rank);
  if (const std::string wrong = defect(hello); !wrong.empty())
    return failed(Code::mismatch, "hello: " + wrong, Status::no_rank);
  auto& place = sockets_[static_cast<unsigned>(std::min(hello.rank, plan_.ranks - 1))];
  if (hello.size != plan_.ranks || place)
    return failed(Code::mismatch,
                  fmt::format("rank {} of {} said hello where {} different ranks were started: the "
                              "launcher belongs to another library than the program",
                              hello.rank, hello.size, plan_.ranks),
                  hello.rank);
  place = std::move(socket);
  if (hello.rank == 0) version_ = hello.version;
  return {};
}

Status RankSet::pin() {
  std::vector<Command> commands(sockets_.size());
  for (std::size_t rank = 0; rank < commands.size(); ++rank) {
    commands[rank].order = Order::pin;
    commands[rank].cpu = rank < plan_.cpus.size() ? plan_.cpus[rank] : -1;
  }
  return order(commands, pin_timeout_ms).status();
}

void RankSet::signal_processes(int signal) const {
  for (const pid_t pid : processes_) ::kill(pid, signal);
}

std::uint64_t RankSet::cpu_ns() const {
  std::uint64_t sum = 0;
  for (const pid_t pid : processes_) sum += cpu_time_ns(pid);
  return sum;
}

Status RankSet::prepare(const Operation& operation) {
  Command command;
  command.order = Order::prepare;
  command.operation = operation;
  return order_all(command, prepare_deadline_ms).status();
}

Status RankSet::release() {
  Command command;
  command.order = Order::release;
  return order_all(command, prepare_deadline_ms).status();
}

Status RankSet::spin() {
  Command command;
  command.order = Order::spin;
  if (plan_.stop_between_orders) signal_processes(SIGCONT);
  // Only rank 0: one thread that spins is the fault that has to be noticed.
  if (!write_all(sockets_[0].get(), &command, sizeof command))
    return failed(Code::peer_failed, "its process is gone", 0);
  Reply reply;
  if (!read_all(sockets_[0].get(), &reply, sizeof reply))
    return failed(Code::peer_failed, "its process is gone", 0);
  return {};
}

Result<TurnFigure> RankSet::turn(const TurnOrder& turn_order) {
  std::vector<Command> commands(sockets_.size());
  for (auto& command : commands) {
    command.order = Order::turn;
    command.turn = turn_order;
    command.turn.deadline_ms = plan_.turn_timeout_ms;
  }
  commands.back().turn.flip_bit = flip_bits_;
  const auto replies = order(commands, plan_.turn_timeout_ms);
  if (!replies) return replies.status();
  return figure_of(*replies, turn_order.iterations);
}

Result<std::vector<Reply>> RankSet::order_all(const Command& command, std::uint32_t timeout_ms) {
  const std::vector<Command> commands(sockets_.size(), command);
  return order(commands, timeout_ms);
}

Result<std::vector<Reply>> RankSet::order(std::span<const Command> commands,
                                          std::uint32_t timeout_ms) {
  const auto deadline = Deadline::after(
      monotonic_now(), (static_cast<Nanoseconds>(timeout_ms) + grace_ms) * nanoseconds_per_ms);
  if (plan_.stop_between_orders) signal_processes(SIGCONT);
  for (std::size_t rank = 0; rank < commands.size(); ++rank)
    if (!write_all(sockets_[rank].get(), &commands[rank], sizeof commands[rank]))
      return failed(Code::peer_failed, "its process is gone", static_cast<int>(rank));
  std::vector<Reply> replies(commands.size());
  std::vector<pollfd> fds(commands.size() + 1);
  for (std::size_t rank = 0; rank < commands.size(); ++rank)
    fds[rank] = {sockets_[rank].get(), POLLIN, 0};
  fds.back() = {interrupt_.fd(), POLLIN, 0};
  for (std::size_t left = commands.size(); left > 0;) {
    const auto left_ms = deadline.left(monotonic_now()) / nanoseconds_per_ms;
    const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(left_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return failed(Code::timeout, "no reply within the deadline", Status::no_rank);
    if (fds.back().revents) return failed(Code::aborted, "interrupted", Status::no_rank);
    for (std::size_t rank = 0; rank < commands.size(); ++rank) {
      if (fds[rank].fd < 0 || !fds[rank].revents) continue;
      if (!read_all(fds[rank].fd, &replies[rank], sizeof replies[rank]))
        return failed(Code::peer_failed, "its process ended or hung in a turn",
                      static_cast<int>(rank));
      fds[rank].fd = -1;
      --left;
    }
  }
  if (plan_.stop_between_orders) signal_processes(SIGSTOP);
  Status unsupported;
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    const Reply& reply = replies[rank];
    if (const std::string wrong = defect(reply); !wrong.empty())
      return failed(Code::mismatch, "reply: " + wrong, static_cast<int>(rank));
    if (reply.outcome == Outcome::failed)
      return failed(Code::peer_failed, reply.error, static_cast<int>(rank));
    if (reply.outcome == Outcome::unsupported)
      unsupported = {Code::unsupported, fmt::format("{}: {}", label(), reply.error)};
  }
  if (!unsupported) return unsupported;
  return replies;
}

Status RankSet::failed(Code code, const std::string& what, int rank) {
  usable_ = false;
  const std::string who = rank >= 0 ? fmt::format("{} rank {}", label(), rank) : label();
  return {code, fmt::format("{}: {}{}", who, what, code == Code::aborted ? "" : log_tail()), rank};
}

/// The end of what the processes printed, for error messages.
std::string RankSet::log_tail() const {
  const off_t end = ::lseek(log_.get(), 0, SEEK_END);
  if (end <= 0) return "";
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(end), log_tail_bytes), '\0');
  const ssize_t got =
      ::pread(log_.get(), text.data(), text.size(), end - static_cast<off_t>(text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return "; it printed:\n" + text;
}

}  // namespace gyre::bench
