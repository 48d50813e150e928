// Which instruction sets the kernels are compiled for. Include it before any Highway header, in
// every file that says HWY_DYNAMIC_DISPATCH or asks Highway which targets were generated.
//
// x86: the compiler's baseline, SSE4 (virtual machines that hide AVX), AVX2 and AVX-512. Copying
// and reducing is bound by memory: what SSSE3 adds over the baseline, or the newer AVX-512 subsets
// over AVX-512, is nothing that these loops use, and each target costs compile time. Native
// bfloat16 instructions, moreover, flush denormals. Better x86 targets have lower bits, so that all
// beyond AVX-512 go with one subtraction. Arm: NEON and SVE; the variants of SVE with a fixed
// vector length only save what these loops don't do (tables, lane crossing).
#pragma once

// Sanitizer builds define GYRE_KERNELS_TWO_TARGETS: instrumented, each target takes minutes to
// compile, and one beside the baseline shows the same faults.
#if defined(GYRE_KERNELS_TWO_TARGETS)
#define HWY_DISABLED_TARGETS                                                                   \
  ((HWY_AVX3 | (HWY_AVX3 - 1)) | HWY_SSE4 | HWY_SSSE3 | HWY_SVE | HWY_SVE_256 | HWY_SVE2 | \
   HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS ((HWY_AVX3 - 1) | HWY_SSSE3 | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
#endif
