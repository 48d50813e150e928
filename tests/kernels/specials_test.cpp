// Special values: NaN, infinities, denormals, zeros of both signs, ties; every pair of them, every
// place in a buffer, and every 16-bit float.
#include "tests/kernels/arena.hpp"

#include "kernels/kernels.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/kernels/oracle.hpp"

namespace gyre::kernels::test {
namespace {

/// Reduces left[i] and right[i] on every target and compares with the oracle.
void check_pairs(DataType type, ReduceOp op, const std::vector<std::uint64_t>& left,
                 const std::vector<std::uint64_t>& right) {
  const std::size_t width = size_of(type);
  const std::size_t count = left.size();
  Buffer a(count * width, 0), b(count * width, 0), out(count * width, 0);
  std::vector<std::uint64_t> expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    a.set(width, i, left[i]);
    b.set(width, i, right[i]);
    const std::uint64_t operands[] = {left[i], right[i]};
    expected[i] = oracle::expected(type, op, operands, op == ReduceOp::avg ? 2 : 1);
  }
  const std::byte* from[] = {a.data(), b.data()};
  std::byte* to[] = {out.data()};
  for (const std::int64_t target : targets()) {
    const ForcedTarget forced(target);
    reduce(type, op, {from, to, count, Store::regular, true, 2});
    for (std::size_t i = 0; i < count; ++i) {
      if (out.get(width, i) == expected[i]) continue;
      INFO(target_name() << " " << name_of(type) << " " << name_of(op) << std::hex << ": "
                         << left[i] << " with " << right[i]);
      FAIL(std::to_string(out.get(width, i)) << " instead of " << expected[i]);
    }
  }
}

/// All `left` with all `right`.
void check_all_pairs(DataType type, const std::vector<std::uint64_t>& left,
                     const std::vector<std::uint64_t>& right) {
  for (const auto& op : reduce_ops) {
    for (const std::uint64_t fixed : right) {
      const std::vector<std::uint64_t> same(left.size(), fixed);
      check_pairs(type, op.op, left, same);
      check_pairs(type, op.op, same, left);
    }
  }
}

std::vector<std::uint64_t> every_16_bits() {
  std::vector<std::uint64_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

}  // namespace

TEST_CASE("all pairs of special values give the oracle's bits on every target") {
  for (const auto& type : data_types)
    check_all_pairs(type.type, specials(type.type), specials(type.type));
}

TEST_CASE("every 16-bit float meets special values and gives the oracle's bits") {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    const auto format = oracle::format_of(type);
    check_all_pairs(type, every_16_bits(), {0, 1, 0x0400, format.infinity() - 1});
  }
}

TEST_CASE("every 16-bit float meets 200 values and gives the oracle's bits", "[.long]") {
  Random random(1);
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    auto right = specials(type);
    while (right.size() < 200) right.push_back(random.next() & 0xFFFF);
    check_all_pairs(type, every_16_bits(), right);
  }
}

TEST_CASE("an element's result does not depend on its place in the buffer") {
  constexpr std::size_t count_max = 150;
  for (const auto& type : data_types) {
    const auto format = oracle::format_of(type.type);
    // Two NaNs with payloads, infinities that cancel, zeros: where instruction sets differ.
    const std::uint64_t pairs[][2] = {{format.nan() + 1, format.nan() + 2},
                                      {format.nan() + 3, 0},
                                      {0, format.infinity() + 1},
                                      {format.infinity(), format.infinity() | format.sign()},
                                      {0, format.sign()},
                                      {format.sign(), 0}};
    for (const auto& op : reduce_ops) {
      for (const auto& pair : pairs) {
        Buffer a(count_max * type.bytes, 0), b(count_max * type.bytes, 0);
        for (std::size_t i = 0; i < count_max; ++i) {
          a.set(type.bytes, i, pair[0]);
          b.set(type.bytes, i, pair[1]);
        }
        const std::uint64_t expected = oracle::expected(type.type, op.op, pair, 1);
        for (const std::int64_t target : targets()) {
          const ForcedTarget forced(target);
          for (std::size_t count = 1; count <= count_max; count += 7) {
            Buffer out(count * type.bytes, 0);
            const std::byte* from[] = {a.data(), b.data()};
            std::byte* to[] = {out.data()};
            reduce(type.type, op.op, {from, to, count});
            for (std::size_t i = 0; i < count; ++i) {
              if (out.get(type.bytes, i) == expected) continue;
              INFO(target_name() << " " << type.name << " " << op.name << " count " << count);
              FAIL("element " << i << ": " << out.get(type.bytes, i) << ", not " << expected);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a single source is copied with all its bits, NaN payloads included") {
  for (const auto& type : data_types) {
    const auto values = specials(type.type);
    Buffer in(values.size() * type.bytes, 1), out(values.size() * type.bytes, 3);
    for (std::size_t i = 0; i < values.size(); ++i) in.set(type.bytes, i, values[i]);
    const std::byte* from[] = {in.data()};
    std::byte* to[] = {out.data()};
    for (const auto& op : reduce_ops) {
      reduce(type.type, op.op, {from, to, values.size(), Store::regular, true, 1});
      for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(out.get(type.bytes, i) == in.get(type.bytes, i));
    }
  }
}

}  // namespace gyre::kernels::test
