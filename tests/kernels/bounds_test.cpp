// What the kernels promise beyond bits: how far a sum of many may be off, that nothing outside the
// buffers is touched, copies, and the choice of the store.
#include "tests/kernels/arena.hpp"

#include "kernels/kernels.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/kernels/oracle.hpp"

namespace gyre::kernels::test {
namespace {

/// The largest error of sums of `sources` random numbers, in units of 2^-digits times the sum of
/// their magnitudes.
template <typename Float>
double largest_error(std::size_t sources, Random& random) {
  constexpr std::size_t count = 500;
  const DataType type = sizeof(Float) == 4 ? DataType::float32 : DataType::float64;
  std::vector<std::vector<Float>> in(sources, std::vector<Float>(count));
  std::vector<Float> out(count);
  std::vector<const std::byte*> from;
  for (auto& source : in) {
    for (Float& x : source)
      x = static_cast<Float>(std::ldexp(static_cast<double>(random.next() >> 11), -52) - 1.0);
    from.push_back(reinterpret_cast<const std::byte*>(source.data()));
  }
  std::byte* to[] = {reinterpret_cast<std::byte*>(out.data())};
  reduce(type, ReduceOp::sum, {from, to, count});
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    long double exact = 0, magnitude = 0;
    for (const auto& source : in) {
      exact += static_cast<long double>(source[i]);
      magnitude += std::fabs(static_cast<long double>(source[i]));
    }
    const long double unit = magnitude * std::ldexp(1.0L, -std::numeric_limits<Float>::digits);
    const long double error = std::fabs(static_cast<long double>(out[i]) - exact) / unit;
    largest = std::fmax(largest, static_cast<double>(error));
  }
  return largest;
}

/// Memory between two pages that can't be touched.
class FencedPage {
 public:
  FencedPage() : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory_ != MAP_FAILED);
    REQUIRE(::mprotect(memory_ + page_, page_, PROT_READ | PROT_WRITE) == 0);
  }
  ~FencedPage() { ::munmap(memory_, 3 * page_); }
  FencedPage(const FencedPage&) = delete;
  FencedPage& operator=(const FencedPage&) = delete;

  std::byte* first() { return memory_ + page_; }
  std::byte* last(std::size_t bytes) { return memory_ + 2 * page_ - bytes; }

 private:
  std::size_t page_;
  std::byte* memory_;
};

}  // namespace

TEST_CASE("a sum of N floats is off by at most (N-1)/2 units of the sum of magnitudes") {
  // Each of N-1 additions rounds by at most half a unit in the last place of its result, which the
  // sum of magnitudes bounds (Higham, Accuracy and Stability of Numerical Algorithms, 4.2: the
  // bound is (N-1) u sum |x|, with u = 2^-digits, half a unit; terms of u squared fit its slack).
  Random random(1);
  for (const std::size_t sources : {2u, 3u, 4u, 8u, 9u, 33u, 64u}) {
    CHECK(largest_error<float>(sources, random) <= static_cast<double>(sources - 1));
    CHECK(largest_error<double>(sources, random) <= static_cast<double>(sources - 1));
  }
}

TEST_CASE("no load or store leaves the buffers") {
  FencedPage pages[4];
  for (const std::int64_t target : targets()) {
    const ForcedTarget forced(target);
    for (const auto& type : data_types) {
      for (const auto& op : reduce_ops) {
        for (std::size_t count = 1; count <= 130; ++count) {
          for (const Store store : {Store::regular, Store::streamed}) {
            const std::size_t bytes = count * type.bytes;
            const std::byte* from[] = {pages[0].last(bytes), pages[1].first()};
            std::byte* to[] = {pages[2].last(bytes), pages[3].first()};
            reduce(type.type, op.op, {from, to, count, store, true, 3});
            copy(to, from[0], bytes, store);
          }
        }
      }
    }
  }
  SUCCEED("no fault");
}

TEST_CASE("copies of every length reach every destination on every target") {
  Random random(2);
  for (const std::int64_t target : targets()) {
    const ForcedTarget forced(target);
    for (std::size_t round = 0; round <= 260; ++round) {
      const std::size_t bytes = round <= 200 ? round : random.below(100'000);
      Buffer source(bytes, random.below(64));
      for (std::size_t i = 0; i < bytes; ++i) source.set(1, i, random.next() & 0xFF);
      const std::vector<std::byte> original(source.data(), source.data() + bytes);
      std::vector<Buffer> buffers;
      for (std::size_t d = 0; d <= random.below(9); ++d)
        buffers.emplace_back(bytes, random.below(64));
      std::vector<std::byte*> to;
      for (auto& buffer : buffers) to.push_back(buffer.data());
      if (random.below(3) == 0) to[random.below(to.size())] = source.data();
      copy(to, source.data(), bytes, round % 2 ? Store::streamed : Store::regular);
      bool right = source.guards_intact();
      for (auto& buffer : buffers) right = right && buffer.guards_intact();
      for (const std::byte* d : to)
        right = right && std::equal(original.begin(), original.end(), d);
      right = right && std::equal(original.begin(), original.end(), source.data());
      INFO(target_name() << " bytes " << bytes << " destinations " << to.size());
      REQUIRE(right);
    }
  }
}

TEST_CASE("counts of zero touch nothing and need no memory") {
  const std::byte* from[] = {nullptr, nullptr};
  std::byte* to[] = {nullptr};
  for (const Store store : {Store::regular, Store::streamed}) {
    reduce(DataType::float32, ReduceOp::sum, {from, to, 0, store});
    copy(to, nullptr, 0, store);
  }
  SUCCEED("no fault");
}

TEST_CASE("stores are streamed only where the data outgrows the last-level cache") {
  constexpr std::size_t cache = 32 << 20;
  CHECK(choose_store(0, cache) == Store::regular);
  CHECK(choose_store(cache / 8, cache) == Store::regular);
  CHECK(choose_store(4 * cache, cache) == Store::streamed);
}

}  // namespace gyre::kernels::test
