// Reductions against the oracle: every element type, operator, SIMD target and shape, bit for bit.
#include "tests/kernels/arena.hpp"

#include "kernels/kernels.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/kernels/oracle.hpp"

namespace gyre::kernels::test {
namespace {

struct Shape {
  DataType type;
  ReduceOp op;
  std::size_t sources;
  std::size_t destinations;
  std::size_t count;
  Store store = Store::regular;
  bool finalize = false;
  std::uint32_t divisor = 1;
  bool in_place = false;
  bool element_aligned = true;
};

std::string describe(const Shape& shape) {
  return std::string(name_of(shape.type)) + " " + std::string(name_of(shape.op)) + " " +
         std::to_string(shape.sources) + "x" + std::to_string(shape.destinations) + " count " +
         std::to_string(shape.count) + (shape.store == Store::streamed ? " streamed" : "") +
         (shape.in_place ? " in place" : "") + " divisor " +
         std::to_string(shape.finalize ? shape.divisor : 1);
}

/// Buffers of one pass, and the bits that must come out.
class Case {
 public:
  Case(const Shape& shape, Random& random) : shape_(shape), width_(size_of(shape.type)) {
    for (std::size_t s = 0; s < shape.sources; ++s) sources_.push_back(buffer(random));
    for (std::size_t d = 0; d < shape.destinations; ++d) destinations_.push_back(buffer(random));
    aliased_ = random.below(shape.sources);
    std::vector<std::uint64_t> operands(shape.sources);
    for (std::size_t i = 0; i < shape.count; ++i) {
      for (std::size_t s = 0; s < shape.sources; ++s) {
        operands[s] = random_element(shape.type, random);
        sources_[s].set(width_, i, operands[s]);
      }
      expected_.push_back(
          oracle::expected(shape.type, shape.op, operands, shape.finalize ? shape.divisor : 1));
    }
  }

  /// Runs on the dispatched target. "" or what is wrong.
  std::string run() {
    std::vector<Buffer> originals = sources_;
    std::vector<const std::byte*> from;
    std::vector<std::byte*> to;
    for (auto& buffer : sources_) from.push_back(buffer.data());
    for (auto& buffer : destinations_) to.push_back(buffer.data());
    if (shape_.in_place) to[to.size() - 1] = sources_[aliased_].data();
    reduce(shape_.type, shape_.op,
           {from, to, shape_.count, shape_.store, shape_.finalize, shape_.divisor});
    const std::string wrong = check(originals, to);
    for (std::size_t s = 0; s < sources_.size(); ++s)
      std::copy_n(originals[s].data(), originals[s].bytes(), sources_[s].data());
    return wrong;
  }

 private:
  Buffer buffer(Random& random) const {
    const std::size_t step = shape_.element_aligned ? width_ : 1;
    return Buffer(shape_.count * width_, random.below(64 / step) * step);
  }

  std::string check(std::vector<Buffer>& originals, const std::vector<std::byte*>& to) {
    for (std::size_t d = 0; d < to.size(); ++d) {
      for (std::size_t i = 0; i < shape_.count; ++i) {
        std::uint64_t got = 0;
        std::memcpy(&got, to[d] + i * width_, width_);
        if (got != expected_[i])
          return "destination " + std::to_string(d) + " element " + std::to_string(i) + ": got " +
                 std::to_string(got) + ", expected " + std::to_string(expected_[i]);
      }
    }
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (!sources_[s].guards_intact()) return "wrote around a source";
      const bool same = std::equal(originals[s].data(), originals[s].data() + originals[s].bytes(),
                                   sources_[s].data());
      if (!same && !(shape_.in_place && s == aliased_)) return "wrote into a source";
    }
    for (auto& buffer : destinations_)
      if (!buffer.guards_intact()) return "wrote around a destination";
    return "";
  }

  Shape shape_;
  std::size_t width_;
  std::vector<Buffer> sources_;
  std::vector<Buffer> destinations_;
  std::size_t aliased_ = 0;
  std::vector<std::uint64_t> expected_;
};

/// Runs one shape on every target.
void check(const Shape& shape, Random& random) {
  Case the_case(shape, random);
  for (const std::int64_t target : targets()) {
    const ForcedTarget forced(target);
    const std::string wrong = the_case.run();
    if (wrong.empty()) continue;
    INFO(target_name() << ": " << describe(shape));
    FAIL(wrong);
  }
}

Shape random_shape(DataType type, ReduceOp op, std::size_t count, Random& random) {
  Shape shape{type, op, 1 + random.below(9), 1 + random.below(9), count};
  if (random.below(2)) {  // the shapes that have loops of their own
    shape.sources = 2;
    shape.destinations = 1 + random.below(2);
  }
  shape.store = random.below(2) ? Store::streamed : Store::regular;
  shape.in_place = random.below(3) == 0;
  shape.element_aligned = random.below(4) != 0;
  shape.finalize = random.below(2) != 0;
  shape.divisor = static_cast<std::uint32_t>(shape.sources);
  return shape;
}

}  // namespace

TEST_CASE("every compiled target that the CPU has can be forced") {
  REQUIRE(targets().size() >= 1);
  for (const std::int64_t target : targets()) {
    const ForcedTarget forced(target);
    CHECK(target_name() == std::string(hwy::TargetName(target)));
  }
}

TEST_CASE("reductions of every length up to 200 give the oracle's bits on every target") {
  Random random(1);
  for (const auto& type : data_types)
    for (const auto& op : reduce_ops)
      for (std::size_t count = 0; count <= 200; ++count)
        check(random_shape(type.type, op.op, count, random), random);
}

TEST_CASE("reductions of every number of sources and destinations give the oracle's bits") {
  Random random(2);
  for (const auto& type : data_types) {
    for (std::size_t sources = 1; sources <= 9; ++sources) {
      for (std::size_t destinations = 1; destinations <= 9; ++destinations) {
        Shape shape = random_shape(type.type, reduce_ops[random.below(4)].op, 150, random);
        shape.sources = sources;
        shape.destinations = destinations;
        check(shape, random);
      }
    }
  }
}

TEST_CASE("long reductions and many sources give the oracle's bits") {
  Random random(3);
  for (const auto& type : data_types) {
    for (const auto& op : reduce_ops) {
      check(random_shape(type.type, op.op, 4099 + random.below(64), random), random);
      Shape shape = random_shape(type.type, op.op, 77, random);
      shape.sources = 64 + random.below(10);
      check(shape, random);
    }
  }
}

TEST_CASE("streamed stores give the oracle's bits wherever the destinations lie") {
  Random random(4);
  for (const auto& type : data_types) {
    for (int round = 0; round < 40; ++round) {
      Shape shape = random_shape(type.type, reduce_ops[random.below(4)].op, 300, random);
      shape.store = Store::streamed;
      check(shape, random);
    }
  }
}

TEST_CASE("integer averages divide the wrapped sum and truncate toward zero") {
  Random random(5);
  for (const DataType type : {DataType::int32, DataType::int64}) {
    for (const std::uint32_t divisor :
         {1u, 2u, 3u, 4u, 7u, 255u, 256u, 65536u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
      for (const std::size_t sources : {1u, 2u, 3u}) {
        check({type, ReduceOp::avg, sources, 1, 200, Store::regular, true, divisor}, random);
      }
    }
  }
}

TEST_CASE("float averages divide once, by any divisor") {
  Random random(6);
  for (const auto& type : data_types) {
    if (type.integer) continue;
    for (const std::uint32_t divisor : {1u, 2u, 3u, 7u, 1000u, 65536u, 0xFFFFFFFFu})
      check({type.type, ReduceOp::avg, 3, 2, 200, Store::regular, true, divisor}, random);
  }
}

TEST_CASE("only avg divides, and only when it is told to") {
  Random random(7);
  for (const auto& type : data_types) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
      Buffer a(64, 0), b(64, 0), plain(64, 0), told(64, 0);
      for (std::size_t i = 0; i < 64 / type.bytes; ++i) {
        a.set(type.bytes, i, random_element(type.type, random));
        b.set(type.bytes, i, random_element(type.type, random));
      }
      const std::byte* from[] = {a.data(), b.data()};
      std::byte* to_plain[] = {plain.data()};
      std::byte* to_told[] = {told.data()};
      const std::size_t count = 64 / type.bytes;
      reduce(type.type, op, {from, to_plain, count});
      reduce(type.type, op, {from, to_told, count, Store::regular, true, 5});
      CHECK(std::memcmp(plain.data(), told.data(), 64) == 0);
    }
  }
}

}  // namespace gyre::kernels::test
