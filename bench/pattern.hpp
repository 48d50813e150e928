// What the buffers hold, and whether an output is right. Values are small integers, so that every
// sum is exact in every element type and order; they differ by rank, element and round, so that a
// missing, doubled, swapped, shifted or stale contribution shows. The reference is computed in fp64
// here, with no code of kernels/. Header-only C++17: peers compile it too.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/types.hpp"
#include "bench/protocol.hpp"

namespace gyre::bench {

/// Rounds to a 16-bit float with `fraction_bits` explicit mantissa bits, nearest even. `value` is
/// finite and below the type's largest number.
inline std::uint16_t round_to_16_bits(double value, int fraction_bits) {
  const int bias = (1 << (14 - fraction_bits)) - 1;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);  // below: denormal
  const auto scaled =
      static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
  const auto base = static_cast<std::uint32_t>(exponent + bias - 1) << fraction_bits;
  return static_cast<std::uint16_t>(sign | (base + scaled));
}

inline double from_16_bits(std::uint16_t bits, int fraction_bits) {
  const int bias = (1 << (14 - fraction_bits)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 2 * bias + 1) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

inline constexpr int half_fraction_bits = 10;
inline constexpr int bfloat16_fraction_bits = 7;

/// Writes `value` as element `index` of an array of `dtype`.
inline void store_element(DataType dtype, void* array, std::uint64_t index, double value) {
  char* at = static_cast<char*>(array) + index * size_of(dtype);
  const auto put = [at](auto typed) { std::memcpy(at, &typed, sizeof typed); };
  switch (dtype) {
    case DataType::float32: return put(static_cast<float>(value));
    case DataType::float64: return put(value);
    case DataType::int32: return put(static_cast<std::int32_t>(value));
    case DataType::int64: return put(static_cast<std::int64_t>(value));
    case DataType::float16: return put(round_to_16_bits(value, half_fraction_bits));
    case DataType::bfloat16: return put(round_to_16_bits(value, bfloat16_fraction_bits));
  }
}

inline double load_element(DataType dtype, const void* array, std::uint64_t index) {
  const char* at = static_cast<const char*>(array) + index * size_of(dtype);
  const auto get = [at](auto typed) {
    std::memcpy(&typed, at, sizeof typed);
    return typed;
  };
  switch (dtype) {
    case DataType::float32: return static_cast<double>(get(float{}));
    case DataType::float64: return get(double{});
    case DataType::int32: return get(std::int32_t{});
    case DataType::int64: return static_cast<double>(get(std::int64_t{}));
    case DataType::float16: return from_16_bits(get(std::uint16_t{}), half_fraction_bits);
    case DataType::bfloat16: return from_16_bits(get(std::uint16_t{}), bfloat16_fraction_bits);
  }
  return 0;
}

/// The largest magnitude of an input, such that `ranks` of them sum without rounding.
inline std::int64_t magnitude_max(DataType dtype, int ranks) {
  switch (dtype) {
    case DataType::float16: return std::max(1, 2048 / ranks);
    case DataType::bfloat16: return std::max(1, 256 / ranks);
    case DataType::float32: return (1 << 24) / ranks / 2;
    case DataType::int32: return 1 << 20;
    case DataType::float64:
    case DataType::int64: return std::int64_t{1} << 32;
  }
  return 1;
}

/// The outcome of a verification.
struct Wrong {
  std::uint64_t elements = 0;
  std::uint64_t first = 0;
  double got = 0;
  double expected = 0;
};

/// A table of `period` random integers; a rank's input in a round is the table from a place that
/// depends on both. The period is prime and larger than helper_ranks_max: two ranks, and the chunks
/// of any schedule, never begin at the same place of it.
class Pattern {
 public:
  static constexpr std::uint64_t period = 1021;

  Pattern(DataType dtype, int ranks, std::uint64_t seed)
      : dtype_(dtype), ranks_(ranks), values_(period), table_(2 * period * size_of(dtype)) {
    const auto magnitude = static_cast<std::uint64_t>(magnitude_max(dtype, ranks));
    for (std::uint64_t i = 0; i < period; ++i) {
      const std::uint64_t random = mix(seed * period + i);
      // Never 0: a contribution that is left out always shows.
      const double value = static_cast<double>(1 + (random >> 1) % magnitude);
      values_[i] = random & 1 ? -value : value;
      store_element(dtype, table_.data(), i, values_[i]);
      store_element(dtype, table_.data(), i + period, values_[i]);
    }
  }

  /// Input element `index` of `rank` in `round`.
  double value(int rank, std::uint64_t round, std::uint64_t index) const {
    return values_[(index + place(rank, round)) % period];
  }

  /// Writes `count` input elements of `rank` for `round`.
  void fill(void* data, std::uint64_t count, int rank, std::uint64_t round) const {
    const std::uint64_t width = size_of(dtype_);
    const char* from = table_.data() + place(rank, round) * width;
    auto* to = static_cast<char*>(data);
    std::uint64_t left = count;
    for (; left > period; left -= period, to += period * width)
      std::memcpy(to, from, period * width);
    std::memcpy(to, from, left * width);
  }

  /// Compares all `receive_count` elements of `rank`'s output with the reference.
  Wrong verify(const Operation& operation, const void* output, int rank, int root,
               std::uint64_t round) const {
    const auto n = static_cast<std::uint64_t>(ranks_);
    switch (operation.collective) {
      case Collective::all_reduce:
        return compare(operation, output, 0, operation.count, reduced(operation.op, round, 0));
      case Collective::reduce_scatter: {
        const auto first = static_cast<std::uint64_t>(rank) * operation.count;
        return compare(operation, output, 0, operation.count, reduced(operation.op, round, first));
      }
      case Collective::broadcast:
        return compare(operation, output, 0, operation.count, input_of(root, round));
      case Collective::all_gather: {
        Wrong all;
        for (std::uint64_t r = 0; r < n; ++r) {
          const Wrong part = compare(operation, output, r * operation.count, operation.count,
                                     input_of(static_cast<int>(r), round));
          if (all.elements == 0 && part.elements > 0)
            all = part;
          else
            all.elements += part.elements;
        }
        return all;
      }
      case Collective::barrier: break;
    }
    return {};
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  static std::uint64_t place(int rank, std::uint64_t round) {
    return (static_cast<std::uint64_t>(rank) * 61 + round % period * 17) % period;
  }

  /// One period of the reduced values, from element `first` on.
  std::vector<double> reduced(ReduceOp op, std::uint64_t round, std::uint64_t first) const {
    std::vector<double> result(period);
    for (std::uint64_t i = 0; i < period; ++i) {
      double sum = value(0, round, first + i);
      for (int r = 1; r < ranks_; ++r) {
        const double next = value(r, round, first + i);
        if (op == ReduceOp::min)
          sum = std::min(sum, next);
        else if (op == ReduceOp::max)
          sum = std::max(sum, next);
        else
          sum += next;
      }
      if (op == ReduceOp::avg) sum /= ranks_;
      if (op == ReduceOp::avg && find(dtype_)->integer) sum = std::trunc(sum);
      result[i] = sum;
    }
    return result;
  }

  std::vector<double> input_of(int rank, std::uint64_t round) const {
    std::vector<double> result(period);
    for (std::uint64_t i = 0; i < period; ++i) result[i] = value(rank, round, i);
    return result;
  }

  /// Bit for bit, but that an average in a 16-bit type, which a library may round twice (to fp32
  /// and then to 16 bits), may be off by one unit in the last place.
  Wrong compare(const Operation& operation, const void* output, std::uint64_t begin,
                std::uint64_t count, const std::vector<double>& expected) const {
    const std::uint64_t width = size_of(dtype_);
    const bool inexact = operation.op == ReduceOp::avg && width == 2 &&
                         (operation.collective == Collective::all_reduce ||
                          operation.collective == Collective::reduce_scatter);
    std::vector<char> right(period * width);
    for (std::uint64_t i = 0; i < period; ++i) store_element(dtype_, right.data(), i, expected[i]);
    const char* got = static_cast<const char*>(output) + begin * width;
    Wrong wrong;
    for (std::uint64_t i = 0; i < count; i += period) {
      const std::uint64_t here = std::min(period, count - i);
      if (std::memcmp(got + i * width, right.data(), here * width) == 0) continue;
      for (std::uint64_t k = 0; k < here; ++k) {
        const char* element = got + (i + k) * width;
        if (std::memcmp(element, right.data() + k * width, width) == 0) continue;
        if (inexact && neighbours(element, right.data() + k * width)) continue;
        if (wrong.elements++ > 0) continue;
        wrong.first = begin + i + k;
        wrong.got = load_element(dtype_, output, wrong.first);
        wrong.expected = expected[k];
      }
    }
    return wrong;
  }

  static bool neighbours(const char* a, const char* b) {
    std::int16_t x = 0;
    std::int16_t y = 0;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return (x ^ y) >= 0 && (x - y == 1 || y - x == 1);
  }

  DataType dtype_;
  int ranks_;
  std::vector<double> values_;
  std::vector<char> table_;
};

}  // namespace gyre::bench
