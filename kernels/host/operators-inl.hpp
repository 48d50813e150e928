// Reduction operators for the reduction loops, compiled once per instruction set: how two vectors
// are combined, and what is done once before the result is stored. A new operator is one more
// struct here and one row of `reduce_elements` in kernels/host/pass-inl.hpp.
#if defined(GYRE_KERNELS_HOST_OPERATORS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GYRE_KERNELS_HOST_OPERATORS_TOGGLE
#undef GYRE_KERNELS_HOST_OPERATORS_TOGGLE
#else
#define GYRE_KERNELS_HOST_OPERATORS_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "kernels/host/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::kernels::host::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Makes every NaN the same one; see kernels/host/elements-inl.hpp.
template <class D>
HWY_INLINE hn::Vec<D> settle_nan(D d, hn::Vec<D> v) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return hn::IfThenElse(hn::IsNaN(v), canonical_nan(d), v);
  } else {
    return v;
  }
}

/// Integers wrap. Float sums are rounded to the lane once per addition.
struct Sum {
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D d, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Add(a, b);
    } else {
      const hn::RebindToUnsigned<D> wrapping;
      return hn::BitCast(d, hn::Add(hn::BitCast(wrapping, a), hn::BitCast(wrapping, b)));
    }
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> v, std::uint32_t) {
    return settle_nan(d, v);
  }
};

/// A sum that is divided once, at the end.
struct Average : Sum {
  template <class D>
  static HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> v, std::uint32_t divisor) {
    using Lane = hn::TFromD<D>;
    if constexpr (hwy::IsFloat<Lane>()) {
      return settle_nan(d, hn::Div(v, hn::Set(d, static_cast<Lane>(divisor))));
    } else {
      // No instruction set divides vectors of integers.
      HWY_ALIGN Lane lanes[hn::MaxLanes(D())];
      hn::Store(v, d, lanes);
      for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        lanes[i] = static_cast<Lane>(std::int64_t{lanes[i]} / std::int64_t{divisor});
      return hn::Load(d, lanes);
    }
  }
};

/// The sign bit where `a` and `b` are zeros of different sign, else nothing.
template <class V>
HWY_INLINE V sign_of_unequal_zeros(V a, V b) {
  return hn::IfThenElseZero(hn::Eq(a, b), hn::Xor(a, b));
}

// A CPU's own minimum and maximum differ between instruction sets in what they do with NaN and with
// zeros; comparing and selecting is the same everywhere, and fast enough to wait for memory.
struct Minimum {
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const auto take_b = hn::Or(hn::Lt(b, a), hn::IsNaN(b));
      return hn::Or(hn::IfThenElse(take_b, b, a), sign_of_unequal_zeros(a, b));
    } else {
      return hn::Min(a, b);
    }
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> v, std::uint32_t) {
    return settle_nan(d, v);
  }
};

struct Maximum {
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const auto take_b = hn::Or(hn::Lt(a, b), hn::IsNaN(b));
      return hn::AndNot(sign_of_unequal_zeros(a, b), hn::IfThenElse(take_b, b, a));
    } else {
      return hn::Max(a, b);
    }
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> v, std::uint32_t) {
    return settle_nan(d, v);
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gyre::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GYRE_KERNELS_HOST_OPERATORS_TOGGLE
