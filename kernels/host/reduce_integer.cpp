// Reductions of int32 and int64, for every instruction set. One of three files that differ only in
// their element types, so that they compile side by side.
#include "kernels/host/targets.hpp"

#include "kernels/host/operands.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/reduce_integer.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernels/host/pass-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::kernels::host::HWY_NAMESPACE {

void reduce_int32_here(ReduceOp op, const Operands& operands) {
  reduce_elements<Int32>(op, operands);
}

void reduce_int64_here(ReduceOp op, const Operands& operands) {
  reduce_elements<Int64>(op, operands);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gyre::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::kernels::host {

HWY_EXPORT(reduce_int32_here);
HWY_EXPORT(reduce_int64_here);

void reduce_int32(ReduceOp op, const Operands& operands) {
  HWY_DYNAMIC_DISPATCH(reduce_int32_here)(op, operands);
}

void reduce_int64(ReduceOp op, const Operands& operands) {
  HWY_DYNAMIC_DISPATCH(reduce_int64_here)(op, operands);
}

}  // namespace gyre::kernels::host
#endif  // HWY_ONCE
