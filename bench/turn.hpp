// The one loop that every library is measured with, compiled into gyre's ranks and into each
// peer's: K x (rewrite the input, call, read the output), and the same loop less the call.
// Header-only C++17.
//
// A library is wrapped in a class of this shape (no base class: the call must not cost more than
// the library's own function):
//
//   struct Library {
//     int rank() const;
//     int size() const;
//     std::string name() const;      // "openmpi"
//     std::string version() const;
//     // Everything that a program would do once, before its loop. "" or why not; a library that
//     has
//     // no such type, operator or mode begins with "unsupported: ".
//     // In place: the smaller buffer lies at the rank's own place in the larger one.
//     std::string prepare(const Operation&, void* send, void* receive);
//     // One blocking collective. `root` matters to broadcast only. False on an error.
//     bool run(void* send, void* receive, int root);
//     bool barrier();
//     std::string error() const;     // of the last run or barrier that returned false
//     // Where run() has put the result: `receive`, unless the library has a habit of its own (MPI:
//     // broadcast leaves it in the root's send buffer; in-place reduce_scatter at the beginning).
//     void* result(const Operation&, void* send, void* receive, int root) const;
//     // For --registered: nullptr on failure.
//     void* allocate(std::size_t bytes);
//     void release(void* data, std::size_t bytes);
//     std::uint64_t bytes_sent() const;  // since the start; 0 where not counted
//     std::string algorithm() const;     // used last; "" where not known
//   };
#pragma once

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bench/pattern.hpp"
#include "bench/protocol.hpp"

namespace gyre::bench {

inline std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// Keeps the compiler from moving or dropping the accesses to a buffer.
inline void keep(const void* data) { asm volatile("" : : "r"(data) : "memory"); }

/// Loads every byte. The sum is only there to be used. One copy of the code for the loop with the
/// call and the one without: inlined, the two would be optimised apart and their difference no
/// longer be the call.
[[gnu::noinline]] inline std::uint64_t read_through(const void* data, std::uint64_t bytes) {
  const auto* at = static_cast<const char*>(data);
  const auto word = [at](std::uint64_t offset) {
    std::uint64_t value;
    std::memcpy(&value, at + offset, sizeof value);
    return value;
  };
  std::uint64_t sums[4] = {};
  std::uint64_t i = 0;
  for (; i + 32 <= bytes; i += 32) {
    sums[0] += word(i);
    sums[1] += word(i + 8);
    sums[2] += word(i + 16);
    sums[3] += word(i + 24);
  }
  for (; i < bytes; ++i) sums[0] += static_cast<unsigned char>(at[i]);
  return sums[0] + sums[1] + sums[2] + sums[3];
}

/// A rank's buffers for one operation: anonymous private memory by one function for every library,
/// or the library's own with --registered. Pages are touched before use.
template <typename Library>
class Buffers {
 public:
  explicit Buffers(Library& library) : library_(library) {}
  ~Buffers() { release(); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// "" or what went wrong.
  std::string make(const Operation& o) {
    release();
    registered_ = o.registered != 0;
    const std::uint64_t width = size_of(o.dtype);
    const std::uint64_t send_bytes = send_count(o, library_.size()) * width;
    const std::uint64_t receive_bytes = receive_count(o, library_.size()) * width;
    const std::uint64_t own = o.count * width * static_cast<unsigned>(library_.rank());
    first_bytes_ = o.in_place ? std::max(send_bytes, receive_bytes) : send_bytes;
    second_bytes_ = o.in_place ? 0 : receive_bytes;
    if (!(first_ = map(first_bytes_))) return "no memory for the send buffer";
    if (!o.in_place && !(second_ = map(second_bytes_))) return "no memory for the receive buffer";
    auto* base = static_cast<char*>(first_);
    send_ = o.in_place && receive_bytes > send_bytes ? base + own : base;
    receive_ = !o.in_place ? second_ : send_bytes > receive_bytes ? base + own : base;
    return "";
  }

  void release() {
    unmap(first_, first_bytes_);
    unmap(second_, second_bytes_);
    first_ = second_ = send_ = receive_ = nullptr;
  }

  void* send() const { return send_; }
  void* receive() const { return receive_; }

 private:
  void* map(std::uint64_t bytes) {
    const std::uint64_t whole = std::max<std::uint64_t>(bytes, 1);
    void* data = nullptr;
    if (registered_) {
      data = library_.allocate(whole);
    } else {
      data = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (data == MAP_FAILED) data = nullptr;
    }
    if (data) std::memset(data, 0, whole);
    return data;
  }

  void unmap(void* data, std::uint64_t bytes) {
    const std::uint64_t whole = std::max<std::uint64_t>(bytes, 1);
    if (data && registered_)
      library_.release(data, whole);
    else if (data)
      ::munmap(data, whole);
  }

  Library& library_;
  bool registered_ = false;
  void* first_ = nullptr;
  void* second_ = nullptr;
  void* send_ = nullptr;
  void* receive_ = nullptr;
  std::uint64_t first_bytes_ = 0;
  std::uint64_t second_bytes_ = 0;
};

/// Carries out prepare, turn and release for one rank. One thread.
template <typename Library>
class Turns {
 public:
  explicit Turns(Library& library) : library_(library), buffers_(library) {}

  Reply prepare(const Operation& operation) {
    release();
    operation_ = operation;
    if (operation.root >= library_.size()) return failure(Outcome::failed, "root out of range");
    pattern_.emplace(operation.dtype, library_.size(), operation.seed);
    if (const auto error = buffers_.make(operation); !error.empty())
      return failure(Outcome::failed, error);
    fill_input(0);
    const auto error = library_.prepare(operation, buffers_.send(), buffers_.receive());
    if (error.rfind("unsupported: ", 0) == 0) return failure(Outcome::unsupported, error);
    if (!error.empty()) return failure(Outcome::failed, error);
    prepared_ = true;
    return {};
  }

  Reply turn(const TurnOrder& order) {
    if (!prepared_) return failure(Outcome::failed, "a turn was ordered before prepare");
    Reply reply;
    // The warm-up's rounds follow the measured ones, so that none of its results passes for theirs.
    if (order.untouched) fill_input(order.first_round);
    if (!loop<true>(order, order.warm_up, order.first_round + order.iterations)) return broken();
    if (!library_.barrier()) return broken();
    reply.bare_start_ns = monotonic_ns();
    loop<false>(order, order.iterations, order.first_round);
    reply.bare_end_ns = monotonic_ns();
    const std::uint64_t last_round =
        order.first_round + (order.untouched ? 0 : order.iterations - 1);
    if (order.untouched) fill_input(order.first_round);
    poison(order.first_round);
    if (!library_.barrier()) return broken();
    const std::uint64_t bytes_before = library_.bytes_sent();
    reply.start_ns = monotonic_ns();
    if (!loop<true>(order, order.iterations, order.first_round)) return broken();
    reply.end_ns = monotonic_ns();
    reply.bytes_sent = library_.bytes_sent() - bytes_before;
    put_text(reply.algorithm, library_.algorithm());
    if (order.verify && !verify(order, last_round, &reply)) return broken();
    if (order.percentile_calls > 0 && !time_calls(order, &reply)) return broken();
    return reply;
  }

  Reply release() {
    buffers_.release();
    prepared_ = false;
    return {};
  }

 private:
  int root_of(std::uint64_t round) const {
    return operation_.root != rotating_root
               ? operation_.root
               : static_cast<int>(round % static_cast<unsigned>(library_.size()));
  }

  /// Rewrites this rank's input. One copy of the code, as read_through.
  [[gnu::noinline]] void fill_input(std::uint64_t round) {
    pattern_->fill(buffers_.send(), send_count(operation_, library_.size()), library_.rank(),
                   round);
    keep(buffers_.send());
  }

  void* result(std::uint64_t round) {
    return library_.result(operation_, buffers_.send(), buffers_.receive(), root_of(round));
  }

  std::uint64_t result_bytes() const {
    return receive_count(operation_, library_.size()) * size_of(operation_.dtype);
  }

  bool call(std::uint64_t round) {
    return library_.run(buffers_.send(), buffers_.receive(), root_of(round));
  }

  /// Does this rank give data to the call of `round`? Of a broadcast only the root does.
  bool has_input(std::uint64_t round) const {
    return operation_.collective != Collective::broadcast || library_.rank() == root_of(round);
  }

  /// Both loops, which differ by the call and nothing else.
  template <bool with_call>
  bool loop(const TurnOrder& order, std::uint64_t iterations, std::uint64_t first_round) {
    const std::uint64_t bytes = result_bytes();
    std::uint64_t seen = 0;
    for (std::uint64_t k = 0; k < iterations; ++k) {
      const std::uint64_t round = first_round + k;
      if (!order.untouched && has_input(round)) fill_input(round);
      if (with_call && !call(round)) return false;
      if (!order.untouched) seen += read_through(result(round), bytes);
    }
    sink_ = sink_ + seen;
    return true;
  }

  /// Puts what no call can answer (it is no integer, or too large a one) where the result will be.
  /// In place the input is there.
  void poison(std::uint64_t round) {
    if (operation_.in_place) return;
    void* to = result(round);
    if (to == buffers_.send()) to = buffers_.receive();
    std::memset(to, 0xA5, result_bytes());
    keep(to);
  }

  /// In place and untouched, the measured calls have reduced their own results over and over: one
  /// more call on a fresh input is verified instead.
  bool verify(const TurnOrder& order, std::uint64_t round, Reply* reply) {
    if (order.untouched && operation_.in_place) {
      fill_input(round);
      if (!library_.barrier() || !call(round)) return false;
    }
    // Untouched inputs are all of the first round, but the root is that of the last call.
    const std::uint64_t last_call =
        order.untouched && !operation_.in_place ? order.first_round + order.iterations - 1 : round;
    const int root = root_of(last_call);
    auto* output = static_cast<char*>(result(last_call));
    const std::uint64_t bytes = result_bytes();
    if (order.flip_bit && bytes > 0) output[bytes / 2] = static_cast<char>(output[bytes / 2] ^ 1);
    const Wrong wrong = pattern_->verify(operation_, output, library_.rank(), root, round);
    reply->wrong = wrong.elements;
    reply->first_wrong = wrong.first;
    reply->wrong_got = wrong.got;
    reply->wrong_expected = wrong.expected;
    return true;
  }

  /// Times single calls; rewriting and reading stay outside the clock.
  bool time_calls(const TurnOrder& order, Reply* reply) {
    std::vector<std::uint64_t> times_ns(order.percentile_calls);
    for (std::uint64_t k = 0; k < times_ns.size(); ++k) {
      const std::uint64_t round = order.first_round + k;
      if (!order.untouched && has_input(round)) fill_input(round);
      const std::uint64_t before = monotonic_ns();
      if (!call(round)) return false;
      times_ns[k] = monotonic_ns() - before;
      if (!order.untouched) sink_ = sink_ + read_through(result(round), result_bytes());
    }
    std::sort(times_ns.begin(), times_ns.end());
    reply->p50_ns = times_ns[(times_ns.size() - 1) / 2];
    reply->p99_ns = times_ns[(times_ns.size() - 1) * 99 / 100];
    return true;
  }

  Reply failure(Outcome outcome, const std::string& text) const {
    Reply reply;
    reply.outcome = outcome;
    put_text(reply.error, text);
    return reply;
  }
  Reply broken() const { return failure(Outcome::failed, library_.error()); }

  Library& library_;
  Buffers<Library> buffers_;
  Operation operation_;
  std::optional<Pattern> pattern_;
  bool prepared_ = false;
  volatile std::uint64_t sink_ = 0;
};

}  // namespace gyre::bench
