// What a collective must give, by plain arithmetic on values that every dtype holds exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/types.hpp"
#include "gyre/gyre.h"

namespace gyre::test {

/// A small integer that differs by rank, element and call.
inline int value_at(int rank, std::size_t index, int call) {
  const std::uint64_t mixed = (index * 2654435761u + static_cast<unsigned>(rank) * 40503u +
                               static_cast<unsigned>(call) * 977u);
  return static_cast<int>(mixed >> 5 & 15) + 1;
}

/// Stores `value` as one element; only integers that the 16-bit floats hold exactly, |value| < 256.
inline void store(DataType type, std::byte* at, double value) {
  const auto put = [at](auto typed) { std::memcpy(at, &typed, sizeof typed); };
  const auto bits_of_float = [](float f) {
    std::uint32_t bits;
    std::memcpy(&bits, &f, sizeof bits);
    return bits;
  };
  switch (type) {
    case DataType::float32: return put(static_cast<float>(value));
    case DataType::float64: return put(value);
    case DataType::int32: return put(static_cast<std::int32_t>(value));
    case DataType::int64: return put(static_cast<std::int64_t>(value));
    case DataType::bfloat16:
      return put(static_cast<std::uint16_t>(bits_of_float(static_cast<float>(value)) >> 16));
    case DataType::float16: {
      const std::uint32_t bits = bits_of_float(static_cast<float>(value));
      if (value == 0) return put(std::uint16_t{0});
      const std::uint32_t sign = bits >> 16 & 0x8000u;
      const std::uint32_t exponent = (bits >> 23 & 0xffu) - 127 + 15;
      return put(static_cast<std::uint16_t>(sign | exponent << 10 | (bits >> 13 & 0x3ffu)));
    }
  }
}

/// The value of one collective's element, before it is stored. avg of floats is exact only where
/// the size is a power of two; callers choose so.
inline double reduced(ReduceOp op, DataType type, int size, std::size_t index, int call) {
  double sum = 0, least = 1e9, most = -1e9;
  for (int rank = 0; rank < size; ++rank) {
    const double value = value_at(rank, index, call);
    sum += value;
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  switch (op) {
    case ReduceOp::sum: return sum;
    case ReduceOp::min: return least;
    case ReduceOp::max: return most;
    case ReduceOp::avg:
      return find(type)->integer ? static_cast<double>(static_cast<long>(sum) / size) : sum / size;
  }
  return 0;
}

/// Where `got` first differs from `expected`, or "".
inline std::string first_difference(DataType type, const std::byte* got, const std::byte* expected,
                                    std::size_t count) {
  const std::size_t bytes = size_of(type);
  if (count == 0 || std::memcmp(got, expected, count * bytes) == 0) return "";
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(got + i * bytes, expected + i * bytes, bytes) != 0)
      return fmt::format("element {} of {} is wrong", i, count);
  }
  return "";
}

}  // namespace gyre::test
