// Reductions of float16 and bfloat16, for every instruction set. One of three files that differ
// only in their element types, so that they compile side by side.
#include "kernels/host/targets.hpp"

#include "kernels/host/operands.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/reduce_half.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/host/pass-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::kernels::host::HWY_NAMESPACE {

void reduce_float16_here(ReduceOp op, const Operands& operands) {
  reduce_elements<Float16>(op, operands);
}

void reduce_bfloat16_here(ReduceOp op, const Operands& operands) {
  reduce_elements<Bfloat16>(op, operands);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gyre::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::kernels::host {

HWY_EXPORT(reduce_float16_here);
HWY_EXPORT(reduce_bfloat16_here);

void reduce_float16(ReduceOp op, const Operands& operands) {
  HWY_DYNAMIC_DISPATCH(reduce_float16_here)(op, operands);
}

void reduce_bfloat16(ReduceOp op, const Operands& operands) {
  HWY_DYNAMIC_DISPATCH(reduce_bfloat16_here)(op, operands);
}

}  // namespace gyre::kernels::host
#endif  // HWY_ONCE
