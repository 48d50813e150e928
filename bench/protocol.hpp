// The control protocol between gyre-bench and its long-lived rank processes, gyre's and the peers'
// alike: one unix stream socket per rank, fixed-size messages, a helper blocks in read(2) whenever
// it is not its turn. Header-only and plain C++17, because every MPI's compiler wrapper includes
// it.
//
//   helper                         coordinator (gyre-bench)
//   connect, Hello          ->
//                           <-     Command{pin | prepare | turn | release | spin}
//   Reply                   ->
//                           <-     Command{quit}, or the end of the stream: the helper exits
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/types.hpp"

namespace gyre::bench {

inline constexpr std::uint32_t protocol_magic = 0x67796234;  // changes with every layout below
inline constexpr int helper_ranks_max = 256;
inline constexpr std::uint64_t buffer_bytes_max = std::uint64_t{1} << 40;
inline constexpr std::uint64_t iterations_max = 100'000'000;
inline constexpr std::uint32_t percentile_calls_max = 100'000;
inline constexpr std::uint32_t deadline_ms_max = 3'600'000;

/// Rank `k mod size` is the root of iteration k.
inline constexpr std::int32_t rotating_root = -1;

/// The first thing a helper says. Text fields are NUL-terminated.
struct Hello {
  std::uint32_t magic = protocol_magic;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t pid = 0;  ///< in the coordinator's pid namespace
  char library[32] = {};
  char variant[64] = {};
  char version[128] = {};
};

/// What is measured: the same on every rank.
struct Operation {
  std::uint64_t count = 0;  ///< elements of the smaller side (per rank for scatter and gather)
  std::uint64_t seed = 0;   ///< of the fill
  std::int32_t root = rotating_root;
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  std::uint8_t in_place = 0;
  std::uint8_t registered = 0;   ///< buffers from Library::allocate, not anonymous private memory
  std::uint8_t nonblocking = 0;  ///< start with a handle and wait on it; only gyre offers this
  std::uint8_t reserved[2] = {};
};

/// One turn of one library.
struct TurnOrder {
  std::uint64_t iterations = 1;   ///< K, 1..iterations_max
  std::uint64_t warm_up = 1;      ///< calls before the clock starts
  std::uint64_t first_round = 0;  ///< differs from turn to turn, so that stale results show
  std::uint32_t deadline_ms = 0;  ///< the helper is killed by SIGALRM after it; 1..deadline_ms_max
  std::uint32_t percentile_calls = 0;  ///< > 0: a second pass that times single calls
  std::uint8_t untouched = 0;          ///< no rewriting of the input, no reading of the output
  std::uint8_t verify = 1;
  std::uint8_t flip_bit = 0;  ///< self-test: damages one bit of this rank's output
  std::uint8_t reserved[5] = {};
};

enum class Order : std::uint32_t {
  pin = 1,      ///< bind the calling thread to `cpu`; -1 leaves it
  prepare = 2,  ///< allocate and fill buffers for `operation`
  turn = 3,     ///< run `turn`
  release = 4,  ///< free the buffers
  spin = 5,     ///< self-test: burn CPU in a thread until the next order
  quit = 6,
};

struct Command {
  std::uint32_t magic = protocol_magic;
  Order order = Order::quit;
  std::int32_t cpu = -1;
  std::int32_t reserved = 0;
  Operation operation;
  TurnOrder turn;
};

enum class Outcome : std::uint32_t {
  done = 0,
  failed = 1,       ///< the library returned an error
  unsupported = 2,  ///< the library has no such type, operator or mode
};

/// Times are CLOCK_MONOTONIC nanoseconds, comparable between the processes of one machine.
struct Reply {
  std::uint32_t magic = protocol_magic;
  Outcome outcome = Outcome::done;
  std::uint64_t start_ns = 0;  ///< the loop with the call
  std::uint64_t end_ns = 0;
  std::uint64_t bare_start_ns = 0;  ///< the same loop less the call
  std::uint64_t bare_end_ns = 0;
  std::uint64_t p50_ns = 0;  ///< of single calls; 0 where the pass was not asked for
  std::uint64_t p99_ns = 0;
  std::uint64_t bytes_sent =
      0;                    ///< by this rank during the loop with the call; 0 where not counted
  std::uint64_t wrong = 0;  ///< elements of this rank's output that are not the right ones
  std::uint64_t first_wrong = 0;  ///< index of the first of them
  double wrong_got = 0;
  double wrong_expected = 0;
  char algorithm[32] = {};  ///< what the library says it used last; "" where it does not say
  char error[512] = {};
};

static_assert(std::is_trivially_copyable_v<Hello> && std::is_trivially_copyable_v<Command> &&
              std::is_trivially_copyable_v<Reply>);
static_assert(sizeof(Hello) == 240 && sizeof(Operation) == 28 + 4 && sizeof(TurnOrder) == 40);
static_assert(sizeof(Command) == 88 && sizeof(Reply) == 640);

/// Copies `text`, cut to what fits, and terminates it.
template <std::size_t size>
void put_text(char (&field)[size], const std::string& text) {
  std::snprintf(field, size, "%s", text.c_str());
}

/// True if the text ends inside its field: a peer's bytes are not trusted to be terminated.
template <std::size_t size>
bool terminated(const char (&field)[size]) {
  return std::memchr(field, 0, size) != nullptr;
}

/// Elements of the send and of the receive side on one rank.
inline std::uint64_t send_count(const Operation& o, int ranks) {
  return o.collective == Collective::reduce_scatter ? o.count * static_cast<unsigned>(ranks)
                                                    : o.count;
}
inline std::uint64_t receive_count(const Operation& o, int ranks) {
  return o.collective == Collective::all_gather ? o.count * static_cast<unsigned>(ranks) : o.count;
}

/// "" for a command that may be carried out, else what is wrong with it.
inline const char* defect(const Command& c) {
  if (c.magic != protocol_magic) return "not a gyre-bench command, or of another version";
  if (c.order < Order::pin || c.order > Order::quit) return "unknown order";
  if (c.order == Order::pin && (c.cpu < -1 || c.cpu >= 65536)) return "cpu out of range";
  if (c.order == Order::prepare) {
    const Operation& o = c.operation;
    if (!find(o.collective) || o.collective == Collective::barrier) return "unknown collective";
    if (!find(o.dtype)) return "unknown element type";
    if (!find(o.op)) return "unknown operator";
    if (o.root < rotating_root || o.root >= helper_ranks_max) return "root out of range";
    if (o.count > buffer_bytes_max / helper_ranks_max / size_of(o.dtype)) return "count too large";
  }
  if (c.order == Order::turn) {
    const TurnOrder& t = c.turn;
    if (t.iterations < 1 || t.iterations > iterations_max) return "iterations out of range";
    if (t.warm_up > iterations_max) return "warm-up out of range";
    if (t.percentile_calls > percentile_calls_max) return "too many percentile calls";
    if (t.deadline_ms < 1 || t.deadline_ms > deadline_ms_max) return "deadline out of range";
  }
  return "";
}

inline const char* defect(const Hello& h) {
  if (h.magic != protocol_magic) return "not a gyre-bench helper, or of another version";
  if (h.size < 1 || h.size > helper_ranks_max) return "size out of range";
  if (h.rank < 0 || h.rank >= h.size) return "rank out of range";
  if (h.pid < 1) return "pid out of range";
  if (!terminated(h.library) || !terminated(h.variant) || !terminated(h.version))
    return "text is not terminated";
  return "";
}

inline const char* defect(const Reply& r) {
  if (r.magic != protocol_magic) return "not a gyre-bench reply, or of another version";
  if (r.outcome > Outcome::unsupported) return "unknown outcome";
  if (r.end_ns < r.start_ns || r.bare_end_ns < r.bare_start_ns) return "time runs backwards";
  if (!terminated(r.algorithm) || !terminated(r.error)) return "text is not terminated";
  return "";
}

/// Whole messages or nothing: false at the end of the stream, on an error, or on a receive timeout.
inline bool read_all(int fd, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::read(fd, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

inline bool write_all(int fd, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

/// The abstract unix address `name`; its length goes to *length, 0 if the name is too long.
inline sockaddr_un abstract_address(const std::string& name, socklen_t* length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  *length = 0;
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path)) return address;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

/// A socket connected to the coordinator, or -1 with errno set.
inline int connect_to(const std::string& name) {
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(name, &length);
  if (length == 0) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

}  // namespace gyre::bench
