// The reduction loop, compiled once per instruction set: one pass over the sources, with results in
// registers until they are stored into every destination. Only a vector's width separates the
// loop's body from its end, so an element's result does not depend on where in the buffer it lies.
#if defined(GYRE_KERNELS_HOST_PASS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GYRE_KERNELS_HOST_PASS_TOGGLE
#undef GYRE_KERNELS_HOST_PASS_TOGGLE
#else
#define GYRE_KERNELS_HOST_PASS_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "base/types.hpp"
#include "kernels/host/elements-inl.hpp"
#include "kernels/host/operands.hpp"
#include "kernels/host/operators-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::kernels::host::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Elements before the address where streaming can begin; 0 where no element is aligned for it.
HWY_INLINE std::size_t head_elements(const std::byte* address, std::size_t element_bytes,
                                     std::size_t count) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(address) % stream_alignment_bytes;
  const std::size_t missing = beyond == 0 ? 0 : stream_alignment_bytes - beyond;
  if (missing % element_bytes != 0) return 0;
  const std::size_t elements = missing / element_bytes;
  return elements < count ? elements : count;
}

/// The loops for one element type and operator. `begin` and `end` count elements.
template <class Type, class Op>
class Reducer {
 public:
  static void run(const Operands& operands) {
    std::size_t begin = 0;
    if (operands.streamed) {
      begin = head_elements(operands.destinations[0], Type::bytes, operands.count);
      remainder(operands, 0, begin);
      begin = blocks(operands, begin);
    } else if (operands.source_count == 2 && operands.destination_count == 1) {
      begin = blocks_of_two_sources<1>(operands);
    } else if (operands.source_count == 2 && operands.destination_count == 2) {
      begin = blocks_of_two_sources<2>(operands);
    } else {
      begin = blocks(operands, 0);
    }
    remainder(operands, begin, operands.count);
  }

 private:
  using D = hn::ScalableTag<typename Type::Lane>;
  using V = hn::Vec<D>;
  static constexpr std::size_t lanes_max = hn::MaxLanes(D());

  /// Four independent vectors at a time: enough to hide the latency of an addition, few enough to
  /// stay in 16 registers. (Spelled out, because SVE's vectors can't be in an array.) A source is
  /// only read before the destinations of its block are written: they may be the same memory.
  static HWY_NOINLINE std::size_t blocks(const Operands& operands, std::size_t begin) {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t vector = lanes * Type::bytes;
    for (; operands.count - begin >= 4 * lanes; begin += 4 * lanes) {
      const std::size_t offset = begin * Type::bytes;
      const std::byte* from = operands.sources[0] + offset;
      V v0 = Type::load(d, from);
      V v1 = Type::load(d, from + vector);
      V v2 = Type::load(d, from + 2 * vector);
      V v3 = Type::load(d, from + 3 * vector);
      for (std::size_t s = 1; s < operands.source_count; ++s) {
        from = operands.sources[s] + offset;
        v0 = Op::combine(d, v0, Type::load(d, from));
        v1 = Op::combine(d, v1, Type::load(d, from + vector));
        v2 = Op::combine(d, v2, Type::load(d, from + 2 * vector));
        v3 = Op::combine(d, v3, Type::load(d, from + 3 * vector));
      }
      v0 = Op::finish(d, v0, operands.divisor);
      v1 = Op::finish(d, v1, operands.divisor);
      v2 = Op::finish(d, v2, operands.divisor);
      v3 = Op::finish(d, v3, operands.divisor);
      for (std::size_t k = 0; k < operands.destination_count; ++k) {
        std::byte* to = operands.destinations[k] + offset;
        // Other destinations may be aligned otherwise than the first one.
        if (operands.streamed && reinterpret_cast<std::uintptr_t>(to) % vector == 0) {
          Type::stream(d, v0, to);
          Type::stream(d, v1, to + vector);
          Type::stream(d, v2, to + 2 * vector);
          Type::stream(d, v3, to + 3 * vector);
        } else {
          store_block(d, v0, v1, v2, v3, to);
        }
      }
    }
    return begin;
  }

  /// The same for the commonest shape: its pointers stay in registers.
  template <int destination_count>
  static HWY_INLINE std::size_t blocks_of_two_sources(const Operands& operands) {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t vector = lanes * Type::bytes;
    const std::byte* const left = operands.sources[0];
    const std::byte* const right = operands.sources[1];
    std::byte* const first = operands.destinations[0];
    std::byte* const second = operands.destinations[destination_count - 1];
    const std::size_t count = operands.count;
    const std::uint32_t divisor = operands.divisor;
    std::size_t begin = 0;
    for (; count - begin >= 4 * lanes; begin += 4 * lanes) {
      const std::size_t offset = begin * Type::bytes;
      const std::byte* const a = left + offset;
      const std::byte* const b = right + offset;
      V v0 = Op::combine(d, Type::load(d, a), Type::load(d, b));
      V v1 = Op::combine(d, Type::load(d, a + vector), Type::load(d, b + vector));
      V v2 = Op::combine(d, Type::load(d, a + 2 * vector), Type::load(d, b + 2 * vector));
      V v3 = Op::combine(d, Type::load(d, a + 3 * vector), Type::load(d, b + 3 * vector));
      v0 = Op::finish(d, v0, divisor);
      v1 = Op::finish(d, v1, divisor);
      v2 = Op::finish(d, v2, divisor);
      v3 = Op::finish(d, v3, divisor);
      store_block(d, v0, v1, v2, v3, first + offset);
      if constexpr (destination_count == 2) store_block(d, v0, v1, v2, v3, second + offset);
    }
    return begin;
  }

  static HWY_INLINE void store_block(D d, V v0, V v1, V v2, V v3, std::byte* to) {
    const std::size_t vector = hn::Lanes(d) * Type::bytes;
    Type::store(d, v0, to);
    Type::store(d, v1, to + vector);
    Type::store(d, v2, to + 2 * vector);
    Type::store(d, v3, to + 3 * vector);
  }

  static HWY_NOINLINE void remainder(const Operands& operands, std::size_t begin, std::size_t end) {
    narrowing<lanes_max>(operands, begin, end);
  }

  /// What is less than a block: whole vectors, then halves of one, down to single elements.
  template <std::size_t lanes_limit>
  static HWY_INLINE void narrowing(const Operands& operands, std::size_t begin, std::size_t end) {
    const hn::CappedTag<typename Type::Lane, lanes_limit> d;
    const std::size_t lanes = hn::Lanes(d);
    for (; end - begin >= lanes; begin += lanes) {
      const std::size_t offset = begin * Type::bytes;
      auto v = Type::load(d, operands.sources[0] + offset);
      for (std::size_t s = 1; s < operands.source_count; ++s)
        v = Op::combine(d, v, Type::load(d, operands.sources[s] + offset));
      v = Op::finish(d, v, operands.divisor);
      for (std::size_t k = 0; k < operands.destination_count; ++k)
        Type::store(d, v, operands.destinations[k] + offset);
    }
    if constexpr (lanes_limit > 1) narrowing<lanes_limit / 2>(operands, begin, end);
  }
};

/// The table of operators.
template <class Type>
void reduce_elements(ReduceOp op, const Operands& operands) {
  switch (op) {
    case ReduceOp::sum: return Reducer<Type, Sum>::run(operands);
    case ReduceOp::avg: return Reducer<Type, Average>::run(operands);
    case ReduceOp::min: return Reducer<Type, Minimum>::run(operands);
    case ReduceOp::max: return Reducer<Type, Maximum>::run(operands);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gyre::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GYRE_KERNELS_HOST_PASS_TOGGLE
