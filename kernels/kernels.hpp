// Copy and reduce on host memory: one pass over N sources with one or more destinations.
//
// Sums of float16 and bfloat16 accumulate in float32 and are rounded once, to nearest even, when
// they are stored. Sources are combined in the order given, from the left. Integer sums wrap.
// min and max follow IEEE 754-2019 minimum and maximum: NaN wins, and -0 < +0.
// avg sums like sum; `finalize` divides once by `divisor` (integers: the wrapped sum, truncated
// toward zero).
//
// A NaN result is always the positive quiet NaN without payload, so that results have the same bits
// on every CPU and wherever in a buffer an element lies. A copy keeps all bits.
//
// All functions are pure over the memory they are given and may run on any threads at once. What
// they stored is visible to whoever sees a release store that follows the call; streamed stores
// too, which the calls fence for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace gyre::kernels {

/// How results are stored.
enum class Store : std::uint8_t {
  regular,   ///< into the caches
  streamed,  ///< past the caches, where the CPU can; for data larger than the last-level cache
};

/// Operands of one pass: `count` elements each, any alignment. A destination may be the same memory
/// as a source, from the same address; any other overlap is not allowed.
struct Pass {
  std::span<const std::byte* const> sources;
  std::span<std::byte* const> destinations;
  std::size_t count = 0;
  Store store = Store::regular;
  /// Divides the result once by `divisor` before storing; avg only, ignored by the other ops. At
  /// least 1; floats divide by the nearest value of their lanes (float32 for 16-bit floats).
  bool finalize = false;
  std::uint32_t divisor = 1;
};

/// Reduces pass.sources element by element into every one of pass.destinations. One source is a
/// copy (and, with finalize, a division). At least one source and one destination; any number.
void reduce(DataType type, ReduceOp op, const Pass& pass);

/// Copies `bytes` from `source` to each destination that is not `source` itself.
void copy(std::span<std::byte* const> destinations, const std::byte* source, std::size_t bytes,
          Store store);

/// How to store the results of an operation that reads and writes `bytes_touched` in all before
/// anyone reads them again, on a machine with such a last-level cache.
Store choose_store(std::size_t bytes_touched, std::size_t last_level_cache_bytes);

/// Name of the SIMD target that run-time dispatch chose, for logs and benchmarks.
const char* target_name();

}  // namespace gyre::kernels
