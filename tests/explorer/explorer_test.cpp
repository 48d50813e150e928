// The explorer against litmus tests whose outcomes under C++20 are known: it must allow what the
// standard allows, so that it can find bugs, and no more, so that it accepts correct code.
#include "tests/explorer/explorer.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/explorer/memory.hpp"

namespace gyre::explorer {
namespace {

using std::memory_order;
using Outcomes = std::set<std::vector<std::uint64_t>>;

constexpr memory_order relaxed = std::memory_order_relaxed;
constexpr memory_order acquire = std::memory_order_acquire;
constexpr memory_order release = std::memory_order_release;
constexpr memory_order acq_rel = std::memory_order_acq_rel;
constexpr memory_order seq_cst = std::memory_order_seq_cst;

Report message_passing(memory_order store, memory_order load) {
  Word<std::uint64_t> data;
  Word<std::uint64_t> flag;
  return explore({"message passing",
                  {[&] {
                     data.store(1, relaxed);
                     flag.store(1, store);
                     return std::uint64_t{0};
                   },
                   [&] { return flag.load(load) * 10 + data.load(relaxed); }}});
}

enum class Fence { none, full, asymmetric, asymmetric_without_barrier };

/// Both threads store their own word and load the other's: may both see 0?
bool both_see_zero(memory_order store, memory_order load, Fence fence) {
  Word<std::uint64_t> x;
  Word<std::uint64_t> y;
  const auto cross = [&](bool first) {
    (first ? x : y).store(1, store);
    if (fence == Fence::full) Memory::full_fence();
    if (fence == Fence::asymmetric && first) Memory::publisher_fence();
    if (fence >= Fence::asymmetric && !first) Memory::sleeper_fence();
    return (first ? y : x).load(load);
  };
  const Report report =
      explore({"store buffering", {[&] { return cross(true); }, [&] { return cross(false); }}});
  CHECK(report.failure == "");
  CHECK(report.outcomes.count({1, 1}) == 1);
  return report.outcomes.count({0, 0}) == 1;
}

}  // namespace

TEST_CASE("a message may be missed when its flag is relaxed on either side, and only then") {
  CHECK(message_passing(release, acquire).outcomes == Outcomes{{0, 0}, {0, 1}, {0, 11}});
  CHECK(message_passing(relaxed, acquire).outcomes.count({0, 10}) == 1);
  CHECK(message_passing(release, relaxed).outcomes.count({0, 10}) == 1);
}

TEST_CASE("store buffering is forbidden by full fences, seq_cst, or one asymmetric fence") {
  CHECK(both_see_zero(release, acquire, Fence::none));
  CHECK_FALSE(both_see_zero(relaxed, relaxed, Fence::full));
  CHECK_FALSE(both_see_zero(seq_cst, seq_cst, Fence::none));
  CHECK_FALSE(both_see_zero(relaxed, relaxed, Fence::asymmetric));
  CHECK(both_see_zero(relaxed, relaxed, Fence::asymmetric_without_barrier));
}

TEST_CASE("read-modify-writes of one word order what is around them without any fence") {
  for (const bool strong : {true, false}) {
    Word<std::uint64_t> x;
    Word<std::uint64_t> y;
    Word<std::uint64_t> meet;
    const auto cross = [&](Word<std::uint64_t>& mine, Word<std::uint64_t>& other) {
      mine.store(1, relaxed);
      meet.fetch_or(0, strong ? acq_rel : relaxed);
      return other.load(relaxed);
    };
    const Report report =
        explore({"meeting", {[&] { return cross(x, y); }, [&] { return cross(y, x); }}});
    CHECK(report.outcomes.count({0, 0}) == (strong ? 0U : 1U));
  }
}

TEST_CASE("a thread never reads a word backwards, even relaxed") {
  Word<std::uint64_t> x;
  const Report report = explore({"coherence",
                                 {[&] {
                                    x.store(1, relaxed);
                                    x.store(2, relaxed);
                                    return std::uint64_t{0};
                                  },
                                  [&] {
                                    const std::uint64_t first = x.load(relaxed);
                                    return first * 10 + x.load(relaxed);
                                  }}});
  CHECK(report.outcomes == Outcomes{{0, 0}, {0, 1}, {0, 2}, {0, 11}, {0, 12}, {0, 22}});
}

TEST_CASE("a release sequence goes on through another thread's relaxed read-modify-write") {
  Word<std::uint64_t> data;
  Word<std::uint64_t> flag;
  const Report report = explore({"release sequence",
                                 {[&] {
                                    data.store(1, relaxed);
                                    return flag.fetch_add(1, release);
                                  },
                                  [&] { return flag.fetch_add(1, relaxed); },
                                  [&] { return flag.load(acquire) * 10 + data.load(relaxed); }}});
  CHECK(report.failure == "");
  CHECK(report.outcomes.count({0, 1, 21}) == 1);
  CHECK(report.outcomes.count({0, 1, 20}) == 0);
}

TEST_CASE("readers may disagree about the order of two writers") {
  Word<std::uint64_t> x;
  Word<std::uint64_t> y;
  const Report report = explore({"write to read causality",
                                 {[&] {
                                    x.store(1, relaxed);
                                    return std::uint64_t{0};
                                  },
                                  [&] {
                                    const std::uint64_t seen = x.load(relaxed);
                                    y.store(1, relaxed);
                                    return seen;
                                  },
                                  [&] { return y.load(acquire) * 10 + x.load(relaxed); }}});
  CHECK(report.outcomes.count({0, 1, 10}) == 1);
}

TEST_CASE("unordered accesses to plain memory are a race, ordered ones are not") {
  for (const bool ordered : {true, false}) {
    Plain<std::uint64_t> data;
    Word<std::uint64_t> flag;
    const Report report = explore({"handing over",
                                   {[&] {
                                      data.store(7);
                                      flag.store(1, ordered ? release : relaxed);
                                      return std::uint64_t{0};
                                    },
                                    [&] {
                                      await([&] { return flag.load(acquire) == 1; });
                                      return data.load();
                                    }}});
    if (ordered) {
      CHECK(report.failure == "");
      CHECK(report.outcomes == Outcomes{{0, 7}});
    } else {
      CHECK(report.failure.find("data race with a write by thread 0") != std::string::npos);
    }
  }
}

TEST_CASE("a thread that nobody can wake is reported, with what led there") {
  Word<std::uint32_t> word;
  Report report = explore({"asleep",
                           {[&] {
                              Memory::futex_wait(word, 0, 1);
                              return std::uint64_t{0};
                            },
                            [&] {
                              word.fetch_add(1, relaxed);
                              return std::uint64_t{0};
                            }}});
  CHECK(report.failure.find("nothing can wake any") != std::string::npos);
  CHECK(report.failure.find("futex_wait at explorer_test.cpp") != std::string::npos);

  report = explore({"polling", {[&] {
                      await([&] { return word.load(relaxed) == 1; });
                      return std::uint64_t{0};
                    }}});
  CHECK(report.failure.find("nothing can wake any") != std::string::npos);
}

TEST_CASE("a compare-exchange succeeds once, and a failing one tells a value that was there") {
  Word<std::uint64_t> word;
  const auto claim = [&](std::uint64_t name) {
    std::uint64_t found = 0;
    word.compare_exchange_strong(found, name, acq_rel, relaxed);
    return found;
  };
  const Report report = explore({"claim", {[&] { return claim(1); }, [&] { return claim(2); }}});
  CHECK(report.outcomes == Outcomes{{0, 1}, {2, 0}});
}

}  // namespace gyre::explorer
