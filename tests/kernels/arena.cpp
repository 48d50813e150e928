// Elements for the kernels' tests.
#include "tests/kernels/arena.hpp"

#include "tests/kernels/oracle.hpp"

namespace gyre::kernels::test {
namespace {

std::vector<std::uint64_t> float_specials(DataType type) {
  const oracle::Format f = oracle::format_of(type);
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias()) << f.fraction_bits;
  const std::uint64_t smallest_normal = std::uint64_t{1} << f.fraction_bits;
  const std::uint64_t largest = f.infinity() - 1;
  std::vector<std::uint64_t> positive = {
      0, 1, 2, 3, smallest_normal / 2, smallest_normal - 1, smallest_normal, smallest_normal + 1,
      smallest_normal * 2, one - 1, one, one + 1, one + 2, one + smallest_normal / 2,
      one + smallest_normal, one + 2 * smallest_normal, largest - 1, largest,
      // Powers of two that are half a unit in the last place of one and of the largest number.
      one - (static_cast<std::uint64_t>(f.fraction_bits) << f.fraction_bits),
      one - (static_cast<std::uint64_t>(f.fraction_bits + 1) << f.fraction_bits),
      (one - (static_cast<std::uint64_t>(f.fraction_bits + 1) << f.fraction_bits)) + 1,
      largest + 1 - (static_cast<std::uint64_t>(f.fraction_bits + 2) << f.fraction_bits),
      f.infinity(), f.infinity() + 1, f.nan(), f.nan() + 5, f.sign() - 1};
  std::vector<std::uint64_t> all = positive;
  for (const std::uint64_t bits : positive) all.push_back(bits | f.sign());
  return all;
}

}  // namespace

std::vector<std::uint64_t> specials(DataType type) {
  if (!find(type)->integer) return float_specials(type);
  const std::uint64_t top = std::uint64_t{1} << (8 * size_of(type) - 1);
  const std::uint64_t mask = top | (top - 1);
  return {0,       1,    2,        3,        7,       top - 1,     top - 2, top,
          top + 1, mask, mask - 1, mask - 2, top / 2, top / 2 + 1, 0xFFFF,  0x10000};
}

std::uint64_t random_element(DataType type, Random& random) {
  const auto any = random.next();
  const std::size_t bits = 8 * size_of(type);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  switch (random.below(4)) {
    case 0: return any & mask;
    case 1: {
      // Built once per type: a test asks for millions.
      static const std::vector<std::uint64_t> table[] = {
          specials(DataType::float32),  specials(DataType::float64), specials(DataType::float16),
          specials(DataType::bfloat16), specials(DataType::int32),   specials(DataType::int64)};
      std::size_t row = 0;
      while (data_types[row].type != type) ++row;
      return table[row][any % table[row].size()];
    }
    default: {
      if (find(type)->integer) return (any % 2001 - 1000) & mask;
      const auto format = oracle::format_of(type);
      const double value = (static_cast<double>(any % 200001) - 100000.0) / 1000.0;
      return oracle::encode(format, value);
    }
  }
}

}  // namespace gyre::kernels::test
