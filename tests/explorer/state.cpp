#include "tests/explorer/state.hpp"

namespace gyre::explorer {
namespace {

class Hash {
 public:
  void add(std::uint64_t value) {
    low_ = (low_ ^ value) * 0x9e3779b97f4a7c15;
    low_ ^= low_ >> 29;
    high_ = (high_ + value) * 0xc2b2ae3d27d4eb4f;
    high_ ^= high_ >> 31;
  }
  void add(const View& view, std::size_t threads, std::size_t words) {
    std::uint64_t packed = 0;
    for (std::size_t i = 0; i < words; ++i) {
      packed = packed << 8 | view.write[i];
      if (i % 8 == 7) add(packed);
    }
    add(packed);
    packed = 0;
    for (std::size_t i = 0; i < threads; ++i) packed = packed << 8 | view.clock[i];
    add(packed);
  }
  Fingerprint get() const { return {low_, high_}; }

 private:
  std::uint64_t low_ = 1;
  std::uint64_t high_ = 2;
};

/// Calls `change` with every view that counts writes.
template <class Change>
void for_each_view(State& state, std::size_t threads, const Change& change) {
  change(state.sc);
  for (std::size_t t = 0; t < threads; ++t) {
    change(state.threads[t].view);
    change(state.threads[t].seen);
    change(state.threads[t].fenced);
  }
  for (WordState& word : state.words)
    for (std::size_t i = 0; i < word.writes; ++i) change(word.history[i].message);
}

}  // namespace

void forget_unreadable(State& state, std::size_t threads) {
  for (std::size_t w = 0; w < words_max; ++w) {
    WordState& word = state.words[w];
    std::uint8_t oldest = static_cast<std::uint8_t>(word.writes - 1);
    for (std::size_t t = 0; t < threads; ++t) {
      const ThreadState& thread = state.threads[t];
      if (thread.status == Status::finished) continue;
      oldest = std::min(oldest, thread.view.write[w]);
      if (thread.status == Status::polling) oldest = std::min(oldest, thread.seen.write[w]);
    }
    if (oldest == 0) continue;
    std::move(word.history.begin() + oldest, word.history.begin() + word.writes,
              word.history.begin());
    word.writes = static_cast<std::uint8_t>(word.writes - oldest);
    for_each_view(state, threads, [&](View& view) {
      view.write[w] = static_cast<std::uint8_t>(std::max(view.write[w], oldest) - oldest);
    });
  }
}

Fingerprint fingerprint(const State& state, std::size_t threads, std::size_t words) {
  Hash hash;
  for (std::size_t t = 0; t < threads; ++t) {
    const ThreadState& thread = state.threads[t];
    hash.add(static_cast<std::uint64_t>(thread.status) << 40 |
             static_cast<std::uint64_t>(thread.answers) << 32 | thread.polled);
    for (std::size_t i = 0; i < thread.answers; ++i) hash.add(thread.answer[i]);
    hash.add(thread.view, threads, words);
    hash.add(thread.fenced, threads, words);
    if (thread.status == Status::polling) hash.add(thread.seen, threads, words);
  }
  for (std::size_t w = 0; w < words; ++w) {
    const WordState& word = state.words[w];
    std::uint64_t packed = word.writes;
    packed = packed << 8 | word.writer;
    packed = packed << 8 | word.written_at;
    for (std::size_t t = 0; t < threads; ++t) packed = packed << 8 | word.read_at[t];
    hash.add(packed);
    for (std::size_t i = 0; i < word.writes; ++i) {
      hash.add(word.history[i].value);
      hash.add(word.history[i].message, threads, words);
    }
  }
  hash.add(state.sc, threads, words);
  return hash.get();
}

}  // namespace gyre::explorer
