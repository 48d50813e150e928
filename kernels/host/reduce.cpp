// The table of element types, and what needs no arithmetic.
#include "kernels/kernels.hpp"

#include <cassert>

#include <hwy/cache_control.h>

#include "kernels/host/operands.hpp"

namespace gyre::kernels {
namespace {

struct Row {
  DataType type;
  void (*reduce)(ReduceOp op, const host::Operands& operands);
};

constexpr Row rows[] = {
    {DataType::float32, host::reduce_float32}, {DataType::float64, host::reduce_float64},
    {DataType::float16, host::reduce_float16}, {DataType::bfloat16, host::reduce_bfloat16},
    {DataType::int32, host::reduce_int32},     {DataType::int64, host::reduce_int64},
};

}  // namespace

void reduce(DataType type, ReduceOp op, const Pass& pass) {
  assert(!pass.sources.empty() && !pass.destinations.empty() && pass.divisor != 0);
  if (pass.count == 0) return;
  const bool divides = op == ReduceOp::avg && pass.finalize && pass.divisor != 1;
  if (op == ReduceOp::avg && !divides) op = ReduceOp::sum;
  if (pass.sources.size() == 1 && !divides)
    return copy(pass.destinations, pass.sources[0], pass.count * size_of(type), pass.store);
  const host::Operands operands{
      .sources = pass.sources.data(),
      .source_count = pass.sources.size(),
      .destinations = pass.destinations.data(),
      .destination_count = pass.destinations.size(),
      .count = pass.count,
      .streamed = pass.store == Store::streamed,
      .divisor = pass.divisor,
  };
  for (const Row& row : rows) {
    if (row.type != type) continue;
    row.reduce(op, operands);
    // Streamed stores are not ordered by a release store; this makes them so.
    if (operands.streamed) hwy::FlushStream();
    return;
  }
  assert(false && "an element type without kernels");
}

}  // namespace gyre::kernels
