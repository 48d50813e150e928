// What one reduction works on, as plain pointers, and the entry point per element type. Plain,
// because the files compiled once per instruction set must not instantiate templates of the
// standard library: the linker might keep the copy with the newest instructions for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace gyre::kernels::host {

/// At least one source, one destination and one element.
struct Operands {
  const std::byte* const* sources;
  std::size_t source_count;
  std::byte* const* destinations;
  std::size_t destination_count;
  std::size_t count;
  bool streamed;
  std::uint32_t divisor;  ///< for avg, which always divides here; at least 1
};

/// What `streamed` stores are aligned to, so that each cache line leaves the core whole.
inline constexpr std::size_t stream_alignment_bytes = 64;

void reduce_float32(ReduceOp op, const Operands& operands);
void reduce_float64(ReduceOp op, const Operands& operands);
void reduce_float16(ReduceOp op, const Operands& operands);
void reduce_bfloat16(ReduceOp op, const Operands& operands);
void reduce_int32(ReduceOp op, const Operands& operands);
void reduce_int64(ReduceOp op, const Operands& operands);

}  // namespace gyre::kernels::host
