// A model checker for the protocols of transport/shm: it runs a few threads through every
// interleaving of their operations on shared words, and lets every load return every value that the
// C++ memory model allows it, not just the latest.
//
// The model is an operational form of RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: "Repairing
// sequential consistency in C/C++11", PLDI 2017). Each word keeps all values ever stored; each
// thread has a *view*: for every word, the oldest value it may still read. A release stores the
// thread's view along with the value, an acquire that reads it takes that view over. Ordinary
// memory and protocol-ordered words must never race: that is checked with vector clocks in the same
// views.
//
// Threads have no stack that could be copied. Each is a deterministic function of what its
// operations returned, so a state is those answers plus the memory, and advancing a thread means
// running it from its start. States seen before are not explored again.
//
// Not modelled: cycles of relaxed loads and stores that RC11 excludes (no hardware we serve
// produces them), plain stores to one word from several threads (refused), time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace gyre::explorer {

enum class Kind : std::uint8_t {
  load,
  store,
  fetch_add,
  fetch_or,
  fetch_and,
  compare_exchange,
  full_fence,
  publisher_fence,  ///< a barrier for the compiler; takes part in others' sleeper_fence
  sleeper_fence,    ///< a full fence in every thread at once
  futex_wait,
  futex_wake,
};

struct Site {
  const char* file = "";
  int line = 0;
};

struct Operation {
  Kind kind = Kind::load;
  int* word = nullptr;
  bool ordered = false;  ///< racing accesses to it are an error
  std::memory_order order = std::memory_order_relaxed;
  Site site;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  std::memory_order failure_order = std::memory_order_relaxed;
};

/// Called by the policy from within a thread under exploration; answers, or unwinds the thread.
std::uint64_t perform(const Operation& operation);

/// Repeats `poll` until it returns true. It may only load. Failed attempts are not unrolled: the
/// thread goes on when something that it read has a newer value.
void await(const std::function<bool()>& poll);

/// Ends the exploration with `what` if `holds` is false.
void check(bool holds, const char* what);

/// One place in the source with a memory order or a fence, and a weaker one to try there.
struct Weakening {
  std::string file;
  int line = 0;
  std::memory_order from = std::memory_order_relaxed;
  std::memory_order to = std::memory_order_relaxed;
  bool is_fence = false;  ///< leave the fence out
  auto operator<=>(const Weakening&) const = default;
};

/// A program under test: threads over shared words that outlive them. What a thread keeps for
/// itself is made inside its body. The body's return value is its outcome.
struct Program {
  std::string name;
  std::vector<std::function<std::uint64_t()>> threads;
};

struct Report {
  std::string failure;  ///< what went wrong and the operations that led there; "" if nothing
  std::uint64_t states = 0;
  std::set<std::vector<std::uint64_t>> outcomes;  ///< one entry per thread
  std::set<Weakening> sites;                      ///< every way to weaken what was executed
};

/// Explores all of `program`, or until the first failure; more than `states_max` states is one.
/// One exploration at a time per OS thread.
Report explore(const Program& program, const Weakening* weakening = nullptr,
               std::uint64_t states_max = 20'000'000);

}  // namespace gyre::explorer
