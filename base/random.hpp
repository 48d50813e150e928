// Seeded random numbers, the same on every machine, for simulations, tests, and the benchmark's
// data. Not for secrets: those come from the kernel.
//
// Sources: xoshiro256** by Blackman and Vigna, "Scrambled linear pseudorandom number generators",
// ACM TOMS 47(4), 2021; its state is filled by splitmix64, Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014; ranges by Lemire, "Fast random integer generation
// in an interval", ACM TOMACS 29(1), 2019.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace gyre {

/// One step of splitmix64: advances `state` and returns a mixed value. Good for deriving seeds.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// xoshiro256**. Also a standard uniform random bit generator. One thread at a time.
class Random {
 public:
  using result_type = std::uint64_t;

  constexpr explicit Random(std::uint64_t seed) {
    for (auto& word : state_) word = splitmix64(seed);
  }
  constexpr explicit Random(const std::array<std::uint64_t, 4>& state) : state_(state) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  constexpr result_type operator()() {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound); bound >= 1. Exact: no value is more likely than another.
  constexpr std::uint64_t below(std::uint64_t bound) {
    Product product = multiply((*this)(), bound);
    if (product.low < bound) {
      const std::uint64_t unfair = (0 - bound) % bound;
      while (product.low < unfair) product = multiply((*this)(), bound);
    }
    return product.high;
  }

  /// Uniform in [low, high], both included; low <= high.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t step = width == max() ? (*this)() : below(width + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
  }

  /// Uniform in [0, 1), in steps of 2^-53.
  constexpr double unit() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

  /// True `times` in `of` calls on average.
  constexpr bool chance(std::uint64_t times, std::uint64_t of) { return below(of) < times; }

  /// A uniformly drawn element of a list that is not empty.
  template <typename T, std::size_t extent>
  constexpr T& pick(std::span<T, extent> from) {
    return from[static_cast<std::size_t>(below(from.size()))];
  }

  /// Every order is equally likely (Fisher and Yates).
  template <typename T, std::size_t extent>
  constexpr void shuffle(std::span<T, extent> items) {
    for (std::size_t left = items.size(); left > 1; --left)
      std::swap(items[left - 1], items[static_cast<std::size_t>(below(left))]);
  }

  /// An independent generator; drawing from one does not disturb the other.
  constexpr Random fork() { return Random((*this)()); }

 private:
  struct Product {
    std::uint64_t high;
    std::uint64_t low;
  };
  static constexpr Product multiply(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
  }
  static constexpr std::uint64_t rotate_left(std::uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace gyre
