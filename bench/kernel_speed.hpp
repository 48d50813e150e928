// How fast one kernel is on data of one size: the measurement under `gyre-bench kernels`.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.hpp"
#include "base/types.hpp"
#include "kernels/kernels.hpp"

namespace gyre::bench {

/// One pass: reduce, or copy where there is one source.
struct KernelShape {
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  std::size_t sources = 2;
  std::size_t destinations = 1;
  kernels::Store store = kernels::Store::regular;
};

/// What happens to the buffers between passes.
enum class Between {
  nothing,         ///< the kernel alone
  write_and_read,  ///< sources are rewritten before and destinations read after each pass, as in
                   ///< use
};

struct KernelSpeed {
  double gb_per_s = 0;  ///< 1e9 bytes read and written by the kernel per second, all threads
  double seconds_per_pass = 0;
};

/// The median of a few turns, one thread pinned to each of `cpus`. All buffers of all threads
/// together have about `bytes`; at least a cache line each.
Result<KernelSpeed> measure_kernel(const KernelShape& shape, std::size_t bytes,
                                   std::span<const int> cpus, Between between = Between::nothing);

}  // namespace gyre::bench
