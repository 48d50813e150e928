// Element types for the reduction loops, compiled once per instruction set. Each is a struct that
// says in which lanes it is combined, how it is loaded into them, and how it is rounded and stored.
// A new element type is one more struct here and one row in kernels/host/reduce.cpp.
//
// Every NaN that leaves a reduction is the positive quiet NaN without payload: which operand's
// payload survives an addition depends on the instruction set and on the compiler's choice of
// operand order, and ranks would otherwise disagree about bits.
#if defined(GYRE_KERNELS_HOST_ELEMENTS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GYRE_KERNELS_HOST_ELEMENTS_TOGGLE
#undef GYRE_KERNELS_HOST_ELEMENTS_TOGGLE
#else
#define GYRE_KERNELS_HOST_ELEMENTS_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gyre::kernels::host::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Loads lanes from any address. Goes through bytes, because the address need not be aligned to the
/// element; the compiler makes one unaligned load of it.
template <class D>
HWY_INLINE hn::Vec<D> load_lanes(D d, const std::byte* from) {
#if HWY_TARGET == HWY_SCALAR
  hn::TFromD<D> lane;
  std::memcpy(&lane, from, sizeof(lane));
  return hn::Set(d, lane);
#else
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
#endif
}

template <class D>
HWY_INLINE void store_lanes(D d, hn::Vec<D> v, std::byte* to) {
#if HWY_TARGET == HWY_SCALAR
  (void)d;
  const hn::TFromD<D> lane = hn::GetLane(v);
  std::memcpy(to, &lane, sizeof(lane));
#else
  (void)d;
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, v), bytes, reinterpret_cast<std::uint8_t*>(to));
#endif
}

/// Stores past the caches. `to` is aligned to the vector. Instructions for that begin at 16 bytes.
template <class D>
HWY_INLINE void stream_lanes(D d, hn::Vec<D> v, std::byte* to) {
#if HWY_TARGET == HWY_SCALAR
  store_lanes(d, v, to);
#else
  const hn::Repartition<std::uint8_t, D> bytes;
  if constexpr (hn::MaxLanes(hn::Repartition<std::uint8_t, D>()) >= 16) {
    hn::Stream(hn::BitCast(bytes, v), bytes, reinterpret_cast<std::uint8_t*>(to));
  } else {
    store_lanes(d, v, to);
  }
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> canonical_nan(D d) {
  const hn::RebindToUnsigned<D> bits;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::BitCast(d, hn::Set(bits, std::uint64_t{0x7FF8000000000000}));
  } else {
    return hn::BitCast(d, hn::Set(bits, std::uint32_t{0x7FC00000}));
  }
}

/// Elements that are combined in lanes of their own kind.
template <typename LaneType>
struct SameLanes {
  using Lane = LaneType;
  static constexpr std::size_t bytes = sizeof(Lane);

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from) {
    return load_lanes(d, from);
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::byte* to) {
    store_lanes(d, v, to);
  }
  template <class D>
  static HWY_INLINE void stream(D d, hn::Vec<D> v, std::byte* to) {
    stream_lanes(d, v, to);
  }
};

using Float32 = SameLanes<float>;
using Float64 = SameLanes<double>;
using Int32 = SameLanes<std::int32_t>;
using Int64 = SameLanes<std::int64_t>;

/// Two-byte elements that are combined in float32; `Format` converts between 16 bits and float32.
template <class Format>
struct WidenedLanes {
  using Lane = float;
  static constexpr std::size_t bytes = 2;
  template <class D>
  using Narrow = hn::Rebind<std::uint16_t, D>;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from) {
    return Format::widen(d, load_lanes(Narrow<D>(), from));
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::byte* to) {
    store_lanes(Narrow<D>(), Format::narrow(d, v), to);
  }
  template <class D>
  static HWY_INLINE void stream(D d, hn::Vec<D> v, std::byte* to) {
    stream_lanes(Narrow<D>(), Format::narrow(d, v), to);
  }
};

/// The upper half of a float32.
struct Bfloat16Format {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> half) {
    const hn::RebindToUnsigned<D> bits;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, half)));
  }

  /// `v` holds no NaN but the canonical one, which rounding leaves alone.
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> bits;
    const hn::RebindToSigned<D> signed_bits;
    const hn::Rebind<std::uint16_t, D> half;
    const auto x = hn::BitCast(bits, v);
    const auto odd = hn::And(hn::ShiftRight<16>(x), hn::Set(bits, 1u));
    const auto rounded = hn::Add(hn::Add(x, hn::Set(bits, 0x7FFFu)), odd);
    return hn::DemoteTo(half, hn::BitCast(signed_bits, hn::ShiftRight<16>(rounded)));
  }
};

/// IEEE 754 binary16.
struct Float16Format {
// AVX2 and better always come with the conversion instructions. They round to nearest even and know
// denormals whatever the CPU's mode; elsewhere the same is done with integers.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> half) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), half));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D, hn::Vec<D> v) {
    const hn::Rebind<std::uint16_t, D> half;
    return hn::BitCast(half, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  }
#else
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> half) {
    const hn::RebindToUnsigned<D> bits;
    const hn::RebindToSigned<D> signed_bits;
    const auto x = hn::PromoteTo(bits, half);
    const auto sign = hn::ShiftLeft<16>(hn::And(x, hn::Set(bits, 0x8000u)));
    const auto magnitude = hn::And(x, hn::Set(bits, 0x7FFFu));
    const auto moved = hn::ShiftLeft<13>(magnitude);
    // Exponents are biased by 15 here and by 127 there; those of infinity and NaN are all ones.
    const auto finite = hn::Add(moved, hn::Set(bits, 112u << 23));
    const auto special = hn::Or(moved, hn::Set(bits, 0x7F800000u));
    // A denormal is its magnitude times 2^-24, exact in float32.
    const auto denormal =
        hn::BitCast(bits, hn::Mul(hn::ConvertTo(d, hn::BitCast(signed_bits, magnitude)),
                                  hn::Set(d, 1.0f / 16777216.0f)));
    const auto is_special = hn::Gt(magnitude, hn::Set(bits, 0x7BFFu));
    const auto is_denormal = hn::Lt(magnitude, hn::Set(bits, 0x400u));
    const auto result =
        hn::IfThenElse(is_special, special, hn::IfThenElse(is_denormal, denormal, finite));
    return hn::BitCast(d, hn::Or(result, sign));
  }

  /// `v` holds no NaN but the canonical one.
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D d, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> bits;
    const hn::RebindToSigned<D> signed_bits;
    const hn::Rebind<std::uint16_t, D> half;
    const auto x = hn::BitCast(bits, v);
    const auto magnitude = hn::And(x, hn::Set(bits, 0x7FFFFFFFu));
    const auto sign = hn::ShiftRight<16>(hn::Xor(x, magnitude));
    // Adding a half of the last kept place, less when that place is even, rounds to nearest even; a
    // carry out of the mantissa raises the exponent, up to infinity.
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(bits, 1u));
    const auto biased = hn::Add(magnitude, hn::Set(bits, 0xFFFu - (112u << 23)));
    const auto normal = hn::ShiftRight<13>(hn::Add(biased, odd));
    // One unit in the last place of 0.5 is that of binary16's denormals: the addition rounds.
    const auto half_one = hn::Set(d, 0.5f);
    const auto denormal = hn::Sub(hn::BitCast(bits, hn::Add(hn::BitCast(d, magnitude), half_one)),
                                  hn::BitCast(bits, half_one));
    const auto infinity = hn::Set(bits, 0x7C00u);
    const auto not_a_number = hn::Set(bits, 0x7E00u);
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(bits, 0x38800000u)), denormal, normal);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(bits, 0x477FFFFFu)), infinity, result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(bits, 0x7F800000u)), not_a_number, result);
    return hn::DemoteTo(half, hn::BitCast(signed_bits, hn::Or(result, sign)));
  }
#endif
};

using Float16 = WidenedLanes<Float16Format>;
using Bfloat16 = WidenedLanes<Bfloat16Format>;

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gyre::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GYRE_KERNELS_HOST_ELEMENTS_TOGGLE
