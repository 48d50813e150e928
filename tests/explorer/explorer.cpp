#include "tests/explorer/explorer.hpp"

#include <memory>
#include <unordered_set>

#include "tests/explorer/state.hpp"

namespace gyre::explorer {
namespace {

// How a thread under exploration is left.
struct Stop {};   // at an operation that has no answer yet
struct Retry {};  // at a poll that failed
struct Failed {
  std::string what;
};

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

bool is_modification(Kind kind) {
  return kind == Kind::fetch_add || kind == Kind::fetch_or || kind == Kind::fetch_and;
}

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"load",       "store",           "fetch_add",
                                   "fetch_or",   "fetch_and",       "compare_exchange",
                                   "full_fence", "publisher_fence", "sleeper_fence",
                                   "futex_wait", "futex_wake"};
  return names[static_cast<std::size_t>(kind)];
}

std::uint64_t modified(const Operation& operation, std::uint64_t value) {
  switch (operation.kind) {
    case Kind::fetch_add: return value + operation.operand;
    case Kind::fetch_or: return value | operation.operand;
    case Kind::fetch_and: return value & operation.operand;
    default: return operation.operand;
  }
}

struct FingerprintHash {
  std::size_t operator()(const Fingerprint& print) const { return print.low; }
};

struct Step {
  std::size_t thread;
  Operation operation;
  std::uint64_t answer;
};

class Explorer {
 public:
  Explorer(const Program& program, const Weakening* weakening, std::uint64_t states_max)
      : program_(program), weakening_(weakening), states_max_(states_max) {}

  Report run();
  std::uint64_t perform(const Operation& operation);
  void begin_poll();
  [[noreturn]] void fail_poll();

 private:
  void note_weakenings(const Operation& operation);
  void weaken(Operation& operation) const;
  void advance(State& state, std::size_t thread);
  bool run_once(State& state, std::size_t thread);
  static bool enabled(const State& state, std::size_t thread);
  void explore(const State& state);
  void execute(const State& state, std::size_t thread);
  template <class Apply>
  void branch(const State& state, std::size_t thread, const Apply& apply);
  void load(const State& state, std::size_t thread);
  void compare_exchange(const State& state, std::size_t thread);
  std::uint64_t read(State& state, std::size_t thread, std::size_t index, std::memory_order order);
  void write(State& state, std::size_t thread, std::uint64_t value, bool modifies);
  std::uint64_t access_ordered(State& state, std::size_t thread);
  void fence(State& state, std::size_t thread);
  void wake(State& state, int word);
  void fail(const std::string& what);

  const Program& program_;
  const Weakening* weakening_;
  std::uint64_t states_max_;
  Report report_;
  std::unordered_set<Fingerprint, FingerprintHash> visited_;
  std::vector<Step> path_;
  int words_ = 0;

  // The thread that is being run.
  ThreadState* running_ = nullptr;
  std::size_t cursor_ = 0;
  std::size_t checkpoint_ = 0;
  std::uint32_t polled_ = 0;
};

thread_local Explorer* current = nullptr;

void Explorer::note_weakenings(const Operation& operation) {
  using std::memory_order;
  const Weakening here{operation.site.file, operation.site.line, operation.order, {}, false};
  const auto add = [&](memory_order to, bool is_fence = false) {
    Weakening weaker = here;
    weaker.to = to;
    weaker.is_fence = is_fence;
    report_.sites.insert(weaker);
  };
  if (operation.word == nullptr) return add(operation.order, true);
  switch (operation.order) {
    case std::memory_order_acquire:
    case std::memory_order_release: return add(std::memory_order_relaxed);
    case std::memory_order_acq_rel:
      add(std::memory_order_acquire);
      return add(std::memory_order_release);
    case std::memory_order_seq_cst:
      return add(operation.kind == Kind::load    ? std::memory_order_acquire
                 : operation.kind == Kind::store ? std::memory_order_release
                                                 : std::memory_order_acq_rel);
    default: return;
  }
}

void Explorer::weaken(Operation& operation) const {
  if (weakening_ == nullptr || weakening_->line != operation.site.line ||
      weakening_->from != operation.order || weakening_->file != operation.site.file)
    return;
  operation.order = weakening_->to;
}

std::uint64_t Explorer::perform(const Operation& operation) {
  if (operation.word && *operation.word < 0) {
    if (words_ == static_cast<int>(words_max)) throw Failed{"the program uses too many words"};
    *operation.word = words_++;
  }
  if (operation.word) polled_ |= 1U << *operation.word;
  const bool left_out = weakening_ && weakening_->is_fence && operation.word == nullptr &&
                        weakening_->line == operation.site.line &&
                        weakening_->file == operation.site.file;
  if (left_out) return 0;
  if (cursor_ < running_->answers) return running_->answer[cursor_++];
  note_weakenings(operation);
  running_->next = operation;
  weaken(running_->next);
  throw Stop{};
}

void Explorer::begin_poll() {
  checkpoint_ = cursor_;
  polled_ = 0;
}

void Explorer::fail_poll() {
  if (polled_ == 0) throw Failed{"a poll failed without reading anything"};
  throw Retry{};
}

/// Runs the thread from its start with the answers it has; true if it has to be run again.
bool Explorer::run_once(State& state, std::size_t index) {
  ThreadState& thread = state.threads[index];
  running_ = &thread;
  cursor_ = 0;
  try {
    thread.outcome = program_.threads[index]();
    thread.status = Status::finished;
  } catch (const Stop&) {
  } catch (const Retry&) {
    thread.answers = static_cast<std::uint8_t>(checkpoint_);
    thread.polled = polled_;
    thread.seen = thread.view;
    thread.status = Status::polling;
    return true;
  } catch (const Failed& failed) {
    fail(failed.what);
  }
  return false;
}

void Explorer::advance(State& state, std::size_t thread) {
  while (run_once(state, thread)) {
  }
}

bool Explorer::enabled(const State& state, std::size_t index) {
  const ThreadState& thread = state.threads[index];
  if (thread.status != Status::polling) return thread.status == Status::runnable;
  for (std::size_t w = 0; w < words_max; ++w)
    if ((thread.polled >> w & 1) != 0 && state.words[w].writes - 1 > thread.seen.write[w])
      return true;
  return false;
}

void Explorer::fail(const std::string& what) {
  if (!report_.failure.empty()) return;
  report_.failure = program_.name + ": " + what;
  for (const Step& step : path_) {
    std::string file = step.operation.site.file;
    file = file.substr(file.rfind('/') + 1);
    report_.failure += "\n  thread " + std::to_string(step.thread) + "  " +
                       name_of(step.operation.kind) + " at " + file + ":" +
                       std::to_string(step.operation.site.line);
    if (step.operation.word) report_.failure += "  word " + std::to_string(*step.operation.word);
    report_.failure += "  operand " + std::to_string(step.operation.operand) + "  gives " +
                       std::to_string(step.answer);
  }
}

Report Explorer::run() {
  Explorer* const outer = current;
  current = this;
  auto state = std::make_unique<State>();
  for (std::size_t t = 0; t < program_.threads.size(); ++t) advance(*state, t);
  if (program_.threads.size() > threads_max) fail("too many threads");
  if (report_.failure.empty()) explore(*state);
  current = outer;
  report_.states = visited_.size();
  return report_;
}

void Explorer::explore(const State& state) {
  if (!visited_.insert(fingerprint(state, program_.threads.size(), words_max)).second) return;
  if (visited_.size() > states_max_) return fail("too many states to explore");
  bool any = false;
  bool finished = true;
  for (std::size_t t = 0; t < program_.threads.size() && report_.failure.empty(); ++t) {
    finished &= state.threads[t].status == Status::finished;
    if (!enabled(state, t)) continue;
    any = true;
    execute(state, t);
  }
  if (any || !report_.failure.empty()) return;
  if (!finished) return fail("every thread waits and nothing can wake any");
  std::vector<std::uint64_t> outcome;
  for (std::size_t t = 0; t < program_.threads.size(); ++t)
    outcome.push_back(state.threads[t].outcome);
  report_.outcomes.insert(outcome);
}

/// One way to go on: `apply` changes the copied state and gives the operation's answer.
template <class Apply>
void Explorer::branch(const State& state, std::size_t index, const Apply& apply) {
  if (!report_.failure.empty()) return;
  auto next = std::make_unique<State>(state);
  ThreadState& thread = next->threads[index];
  path_.push_back({index, thread.next, 0});
  try {
    const std::uint64_t answer = apply(*next);
    path_.back().answer = answer;
    if (thread.status != Status::asleep) {
      if (thread.answers == answers_max) throw Failed{"a thread takes too many steps"};
      thread.answer[thread.answers++] = answer;
      thread.status = Status::runnable;
      advance(*next, index);
    }
    forget_unreadable(*next, program_.threads.size());
    if (report_.failure.empty()) explore(*next);
  } catch (const Failed& failed) {
    fail(failed.what);
  }
  path_.pop_back();
}

void Explorer::execute(const State& state, std::size_t index) {
  const Operation& operation = state.threads[index].next;
  if (operation.ordered)
    return branch(state, index, [&](State& next) { return access_ordered(next, index); });
  if (operation.kind == Kind::load) return load(state, index);
  if (operation.kind == Kind::compare_exchange) return compare_exchange(state, index);
  branch(state, index, [&](State& next) -> std::uint64_t {
    if (operation.word == nullptr) {
      fence(next, index);
      return 0;
    }
    const auto word = static_cast<std::size_t>(*operation.word);
    const WordState& before = next.words[word];
    const std::size_t latest = before.writes - 1U;
    if (is_modification(operation.kind)) {
      const std::uint64_t found = read(next, index, latest, operation.order);
      write(next, index, modified(operation, found), true);
      return found;
    }
    if (operation.kind == Kind::store) {
      if (next.threads[index].view.write[word] != latest)
        throw Failed{"a store races with another thread's, which is not modelled"};
      write(next, index, operation.operand, false);
    } else if (operation.kind == Kind::futex_wake) {
      wake(next, *operation.word);
    } else {  // futex_wait: the kernel reads the word for the thread, and always the latest value
      if (before.latest().value == operation.expected) next.threads[index].status = Status::asleep;
      next.threads[index].view.write[word] = static_cast<std::uint8_t>(latest);
    }
    return 0;
  });
}

/// Any value from the oldest that the thread's view allows to the latest.
void Explorer::load(const State& state, std::size_t index) {
  const Operation& operation = state.threads[index].next;
  const auto word = static_cast<std::size_t>(*operation.word);
  std::size_t oldest = state.threads[index].view.write[word];
  if (operation.order == std::memory_order_seq_cst)
    oldest = std::max<std::size_t>(oldest, state.sc.write[word]);
  for (std::size_t i = oldest; i < state.words[word].writes; ++i)
    branch(state, index, [&](State& next) { return read(next, index, i, operation.order); });
}

void Explorer::compare_exchange(const State& state, std::size_t index) {
  const Operation& operation = state.threads[index].next;
  const auto word = static_cast<std::size_t>(*operation.word);
  const WordState& before = state.words[word];
  const std::size_t latest = before.writes - 1U;
  if (before.latest().value == operation.expected)
    branch(state, index, [&](State& next) {
      const std::uint64_t found = read(next, index, latest, operation.order);
      write(next, index, operation.operand, true);
      return found;
    });
  for (std::size_t i = state.threads[index].view.write[word]; i <= latest; ++i)
    if (before.history[i].value != operation.expected)
      branch(state, index,
             [&](State& next) { return read(next, index, i, operation.failure_order); });
}

std::uint64_t Explorer::read(State& state, std::size_t index, std::size_t at,
                             std::memory_order order) {
  ThreadState& thread = state.threads[index];
  const auto word = static_cast<std::size_t>(*thread.next.word);
  const Write& found = state.words[word].history[at];
  thread.view.write[word] = std::max(thread.view.write[word], static_cast<std::uint8_t>(at));
  if (acquires(order)) thread.view.join(found.message);
  return found.value;
}

/// `modifies`: continues the release sequence of the value it replaces.
void Explorer::write(State& state, std::size_t index, std::uint64_t value, bool modifies) {
  ThreadState& thread = state.threads[index];
  const auto id = static_cast<std::size_t>(*thread.next.word);
  WordState& word = state.words[id];
  if (word.writes == writes_max) throw Failed{"a word is written too often"};
  Write& added = word.history[word.writes];
  added = {value, modifies ? word.latest().message : View{}};
  thread.view.write[id] = word.writes;
  added.message.write[id] = word.writes;
  if (releases(thread.next.order)) added.message.join(thread.view);
  if (thread.next.order == std::memory_order_seq_cst) state.sc.write[id] = word.writes;
  ++word.writes;
}

/// Memory that must not race: only the latest value is kept, and only it may be read.
std::uint64_t Explorer::access_ordered(State& state, std::size_t index) {
  ThreadState& thread = state.threads[index];
  WordState& word = state.words[static_cast<std::size_t>(*thread.next.word)];
  const View& view = thread.view;
  if (word.writer != threads_max && view.clock[word.writer] < word.written_at)
    throw Failed{"data race with a write by thread " + std::to_string(word.writer)};
  const std::uint8_t now = ++thread.view.clock[index];
  if (thread.next.kind == Kind::load) {
    word.read_at[index] = now;
    return word.history[0].value;
  }
  for (std::size_t t = 0; t < threads_max; ++t)
    if (t != index && view.clock[t] < word.read_at[t])
      throw Failed{"data race with a read by thread " + std::to_string(t)};
  word.writer = static_cast<std::uint8_t>(index);
  word.written_at = now;
  word.history[0].value = thread.next.operand;
  return 0;
}

void Explorer::fence(State& state, std::size_t index) {
  ThreadState& thread = state.threads[index];
  if (thread.next.kind != Kind::publisher_fence) {
    // Another thread's stores after its last barrier may not have been executed yet, because its
    // compiler is free to move them.
    if (thread.next.kind == Kind::sleeper_fence)
      for (ThreadState& other : state.threads) state.sc.join_writes(other.fenced);
    state.sc.join_writes(thread.view);
    thread.view.join_writes(state.sc);
    if (thread.next.kind == Kind::sleeper_fence)
      for (ThreadState& other : state.threads) other.view.join_writes(state.sc);
  }
  thread.fenced = thread.view;
}

void Explorer::wake(State& state, int word) {
  for (std::size_t t = 0; t < program_.threads.size(); ++t) {
    ThreadState& other = state.threads[t];
    if (other.status != Status::asleep || *other.next.word != word) continue;
    other.answer[other.answers++] = 0;
    other.status = Status::runnable;
    advance(state, t);
  }
}

}  // namespace

std::uint64_t perform(const Operation& operation) { return current->perform(operation); }

void await(const std::function<bool()>& poll) {
  current->begin_poll();
  if (!poll()) current->fail_poll();
}

void check(bool holds, const char* what) {
  if (!holds) throw Failed{what};
}

Report explore(const Program& program, const Weakening* weakening, std::uint64_t states_max) {
  return Explorer(program, weakening, states_max).run();
}

}  // namespace gyre::explorer
