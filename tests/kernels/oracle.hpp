// What a reduction must give, computed in double and integer arithmetic with no code of kernels/.
// Elements are bit patterns in the low bits of a 64-bit number.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "base/types.hpp"

namespace gyre::kernels::oracle {

/// Layout of a binary floating-point format.
struct Format {
  int fraction_bits;
  int exponent_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int sign_shift() const { return fraction_bits + exponent_bits; }
  std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  std::uint64_t nan() const { return infinity() | std::uint64_t{1} << (fraction_bits - 1); }
  std::uint64_t sign() const { return std::uint64_t{1} << sign_shift(); }
  bool is_nan(std::uint64_t bits) const { return (bits & ~sign()) > infinity(); }
};

inline Format format_of(DataType type) {
  switch (type) {
    case DataType::float16: return {10, 5};
    case DataType::bfloat16: return {7, 8};
    case DataType::float32: return {23, 8};
    default: return {52, 11};
  }
}

/// The number that `bits` stand for. Exact for every format up to binary64.
inline double decode(Format format, std::uint64_t bits) {
  const double sign = bits & format.sign() ? -1.0 : 1.0;
  const auto exponent = static_cast<int>((bits & ~format.sign()) >> format.fraction_bits);
  const std::uint64_t one = std::uint64_t{1} << format.fraction_bits;
  const std::uint64_t fraction = bits & (one - 1);
  if (exponent == (1 << format.exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  const int scale = 1 - format.bias() - format.fraction_bits;
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(fraction), scale);
  return sign * std::ldexp(static_cast<double>(fraction + one), scale + exponent - 1);
}

/// Rounds to nearest even. One rounding: nearbyint of a number scaled by a power of two.
inline std::uint64_t encode(Format format, double value) {
  if (std::isnan(value)) return format.nan();
  if (format.fraction_bits == 52) return std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = std::signbit(value) ? format.sign() : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | format.infinity();
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - format.bias()) exponent = 1 - format.bias();
  const double scaled = std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent));
  // A denormal lacks the leading one, which stands for the lowest exponent; a carry raises it.
  const std::uint64_t bits =
      (static_cast<std::uint64_t>(exponent + format.bias() - 1) << format.fraction_bits) +
      static_cast<std::uint64_t>(scaled);
  return sign | (bits < format.infinity() ? bits : format.infinity());
}

/// The format in which sums of `type` are kept until they are stored.
inline Format accumulator_of(DataType type) {
  return type == DataType::float64 ? Format{52, 11} : Format{23, 8};
}

/// IEEE 754-2019 minimum and maximum.
inline double extreme(ReduceOp op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  const bool a_below = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  return a_below == (op == ReduceOp::min) ? a : b;
}

inline std::uint64_t expected_float(DataType type, ReduceOp op, std::span<const std::uint64_t> in,
                                    std::uint32_t divisor) {
  const Format stored = format_of(type);
  const Format kept = accumulator_of(type);
  double result = decode(stored, in[0]);
  for (std::size_t i = 1; i < in.size(); ++i) {
    const double next = decode(stored, in[i]);
    if (op == ReduceOp::min || op == ReduceOp::max) {
      result = extreme(op, result, next);
    } else {
      // Double has more than twice the digits of float: rounding twice is rounding once.
      result = decode(kept, encode(kept, result + next));
    }
  }
  if (op == ReduceOp::avg && divisor != 1) {
    const double by = decode(kept, encode(kept, static_cast<double>(divisor)));
    result = decode(kept, encode(kept, result / by));
  }
  return encode(stored, result);
}

inline std::uint64_t expected_integer(int bits, ReduceOp op, std::span<const std::uint64_t> in,
                                      std::uint32_t divisor) {
  const auto widen = [bits](std::uint64_t x) {
    return static_cast<std::int64_t>(x << (64 - bits)) >> (64 - bits);
  };
  std::uint64_t result = in[0];
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (op == ReduceOp::min) {
      result = widen(in[i]) < widen(result) ? in[i] : result;
    } else if (op == ReduceOp::max) {
      result = widen(in[i]) > widen(result) ? in[i] : result;
    } else {
      result += in[i];
    }
  }
  if (op == ReduceOp::avg)
    result = static_cast<std::uint64_t>(widen(result) / static_cast<std::int64_t>(divisor));
  return bits == 64 ? result : result & 0xFFFFFFFFu;
}

/// The bits of the reduction of `in`, combined from the left. `divisor` is avg's, 1 for none. A
/// single operand that is not divided is copied as it is.
inline std::uint64_t expected(DataType type, ReduceOp op, std::span<const std::uint64_t> in,
                              std::uint32_t divisor) {
  if (in.size() == 1 && (op != ReduceOp::avg || divisor == 1)) return in[0];
  if (type == DataType::int32) return expected_integer(32, op, in, divisor);
  if (type == DataType::int64) return expected_integer(64, op, in, divisor);
  return expected_float(type, op, in, divisor);
}

}  // namespace gyre::kernels::oracle
