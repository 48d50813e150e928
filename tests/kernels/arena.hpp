// Buffers for the kernels' tests: any address offset, guard bytes around them, and every SIMD
// target in turn.
#pragma once

#include "kernels/host/targets.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <hwy/targets.h>

#include "base/types.hpp"

namespace gyre::kernels::test {

/// Deterministic random numbers (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }

 private:
  std::uint64_t state_;
};

/// The SIMD targets that were compiled and that this CPU has.
inline std::vector<std::int64_t> targets() {
  hwy::SetSupportedTargetsForTest(0);
  return hwy::SupportedAndGeneratedTargets();
}

/// Dispatches to one target while it lives.
class ForcedTarget {
 public:
  explicit ForcedTarget(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~ForcedTarget() { hwy::SetSupportedTargetsForTest(0); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

/// `bytes` bytes at `offset` from a 64-byte boundary, between guards.
class Buffer {
 public:
  static constexpr std::size_t guard_bytes = 128;
  static constexpr unsigned char guard = 0xC3;

  Buffer(std::size_t bytes, std::size_t offset)
      : bytes_(bytes), memory_(bytes + offset + 2 * guard_bytes + 64, guard) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = guard_bytes + (64 - address % 64) % 64 + offset;
  }

  std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()) + begin_; }
  std::size_t bytes() const { return bytes_; }

  void set(std::size_t element_bytes, std::size_t index, std::uint64_t bits) {
    std::memcpy(data() + index * element_bytes, &bits, element_bytes);
  }
  std::uint64_t get(std::size_t element_bytes, std::size_t index) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, data() + index * element_bytes, element_bytes);
    return bits;
  }

  bool guards_intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if ((i < begin_ || i >= begin_ + bytes_) && memory_[i] != guard) return false;
    return true;
  }

 private:
  std::size_t bytes_;
  std::size_t begin_ = 0;
  std::vector<unsigned char> memory_;
};

/// Bit patterns worth meeting each other: zeros, the smallest and largest of everything,
/// infinities, quiet and signalling NaNs with payloads, neighbours of powers of two, ties.
std::vector<std::uint64_t> specials(DataType type);

/// Any bits, specials, and numbers of similar size, in turns.
std::uint64_t random_element(DataType type, Random& random);

}  // namespace gyre::kernels::test
