// The turn loop and its verification: right answers pass in every mode, and each kind of wrong one
// is counted.
#include "bench/turn.hpp"

#include <catch2/catch_test_macros.hpp>
#include <thread>
#include <vector>

#include "tests/bench/fake_library.hpp"

using namespace gyre;
using namespace gyre::bench;
using gyre::bench::test::FakeLibrary;
using gyre::bench::test::Fault;
using gyre::bench::test::World;

namespace {

/// What each rank replies to prepare (when it fails) or to the turn.
std::vector<Reply> run_turn(int ranks, const Operation& operation, const TurnOrder& order,
                            Fault fault = Fault::none, int flipped_rank = -1) {
  World world(ranks);
  world.fault = fault;
  std::vector<Reply> replies(static_cast<unsigned>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      FakeLibrary library(world, rank);
      Turns<FakeLibrary> turns(library);
      TurnOrder own = order;
      own.flip_bit = rank == flipped_rank;
      Reply reply = turns.prepare(operation);
      if (reply.outcome == Outcome::done) reply = turns.turn(own);
      replies[static_cast<unsigned>(rank)] = reply;
    });
  for (auto& thread : threads) thread.join();
  return replies;
}

std::uint64_t wrong_in(const std::vector<Reply>& replies) {
  std::uint64_t sum = 0;
  for (const auto& reply : replies) {
    REQUIRE(reply.outcome == Outcome::done);
    sum += reply.wrong;
  }
  return sum;
}

Operation operation_of(Collective collective, DataType dtype, ReduceOp op, std::uint64_t count) {
  Operation operation;
  operation.collective = collective;
  operation.dtype = dtype;
  operation.op = op;
  operation.count = count;
  operation.seed = 7;
  return operation;
}

TurnOrder order_of(std::uint64_t iterations) {
  TurnOrder order;
  order.iterations = iterations;
  order.deadline_ms = 1000;
  order.first_round = 100;
  return order;
}

constexpr Collective measured[] = {Collective::all_reduce, Collective::reduce_scatter,
                                   Collective::all_gather, Collective::broadcast};

}  // namespace

TEST_CASE("right answers verify for every collective, element type and operator") {
  for (const Collective collective : measured)
    for (const auto& type : data_types)
      for (const auto& op : reduce_ops) {
        CAPTURE(name_of(collective), type.name, op.name);
        const auto operation = operation_of(collective, type.type, op.op, 1500);
        CHECK(wrong_in(run_turn(3, operation, order_of(4))) == 0);
      }
}

TEST_CASE("out-of-place answers verify with untouched buffers, few elements and none") {
  for (const Collective collective : measured)
    for (const std::uint64_t count : {0u, 1u, 2u, 1021u, 1022u}) {
      CAPTURE(name_of(collective), count);
      auto operation = operation_of(collective, DataType::float32, ReduceOp::sum, count);
      TurnOrder order = order_of(3);
      order.untouched = 1;
      CHECK(wrong_in(run_turn(2, operation, order)) == 0);
      operation.registered = 1;
      order.untouched = 0;
      CHECK(wrong_in(run_turn(2, operation, order)) == 0);
    }
}

TEST_CASE("in-place answers verify, rewritten and untouched") {
  for (const Collective collective : measured)
    for (const bool untouched : {false, true}) {
      CAPTURE(name_of(collective), untouched);
      auto operation = operation_of(collective, DataType::float32, ReduceOp::sum, 3000);
      operation.in_place = 1;
      TurnOrder order = order_of(5);
      order.untouched = untouched;
      CHECK(wrong_in(run_turn(4, operation, order)) == 0);
    }
}

TEST_CASE("one flipped bit on one rank is one wrong element") {
  for (const Collective collective : measured)
    for (const auto& type : data_types) {
      CAPTURE(name_of(collective), type.name);
      const auto operation = operation_of(collective, type.type, ReduceOp::sum, 2000);
      CHECK(wrong_in(run_turn(2, operation, order_of(2), Fault::none, 1)) == 1);
    }
}

TEST_CASE("outputs that were not written, or are those of the call before, are wrong") {
  for (const Collective collective : measured)
    for (const Fault fault : {Fault::stale, Fault::late}) {
      CAPTURE(name_of(collective), fault == Fault::late);
      auto operation = operation_of(collective, DataType::float32, ReduceOp::sum, 2000);
      operation.root = 0;
      CHECK(wrong_in(run_turn(2, operation, order_of(3), fault)) > 1900);
    }
}

TEST_CASE("untouched outputs that only the warm-up has written are wrong") {
  auto operation = operation_of(Collective::all_reduce, DataType::float32, ReduceOp::sum, 2000);
  TurnOrder order = order_of(3);
  order.untouched = 1;
  CHECK(wrong_in(run_turn(2, operation, order, Fault::stale)) == 2000);
}

TEST_CASE("outputs of the wrong rank are wrong") {
  for (const Collective collective : {Collective::all_gather, Collective::broadcast}) {
    CAPTURE(name_of(collective));
    auto operation = operation_of(collective, DataType::bfloat16, ReduceOp::sum, 1000);
    CHECK(wrong_in(run_turn(2, operation, order_of(3), Fault::swapped)) > 1900);
  }
}

TEST_CASE("a rank's missing contribution makes every element wrong") {
  const auto operation =
      operation_of(Collective::all_reduce, DataType::float16, ReduceOp::sum, 1000);
  CHECK(wrong_in(run_turn(3, operation, order_of(3), Fault::dropped)) == 3000);
}

TEST_CASE("a turn reports both loops, bytes and percentiles") {
  const auto operation =
      operation_of(Collective::all_reduce, DataType::float32, ReduceOp::sum, 100);
  TurnOrder order = order_of(8);
  order.percentile_calls = 50;
  for (const auto& reply : run_turn(2, operation, order)) {
    CHECK(reply.end_ns > reply.start_ns);
    CHECK(reply.start_ns >= reply.bare_end_ns);
    CHECK(reply.bare_end_ns > reply.bare_start_ns);
    CHECK(reply.bytes_sent == 80);  // the fake counts 10 for each of the 8 calls
    CHECK(reply.p50_ns > 0);
    CHECK(reply.p99_ns >= reply.p50_ns);
    CHECK(std::string(reply.algorithm) == "direct");
  }
}

TEST_CASE("failures and missing modes come back as text") {
  auto operation = operation_of(Collective::all_reduce, DataType::float32, ReduceOp::sum, 10);
  for (const auto& reply : run_turn(2, operation, order_of(1), Fault::error)) {
    CHECK(reply.outcome == Outcome::failed);
    CHECK(std::string(reply.error) == "the fake failed");
  }
  operation.nonblocking = 1;
  for (const auto& reply : run_turn(2, operation, order_of(1)))
    CHECK(reply.outcome == Outcome::unsupported);
}

TEST_CASE("16-bit rounding is to nearest even and reaches denormals") {
  CHECK(round_to_16_bits(1.0, half_fraction_bits) == 0x3c00);
  CHECK(round_to_16_bits(-2.0, half_fraction_bits) == 0xc000);
  CHECK(round_to_16_bits(1.0 + 1.0 / 2048, half_fraction_bits) == 0x3c00);
  CHECK(round_to_16_bits(1.0 + 3.0 / 2048, half_fraction_bits) == 0x3c02);
  CHECK(round_to_16_bits(2047.6, half_fraction_bits) == 0x6800);  // carries into the exponent
  CHECK(round_to_16_bits(std::ldexp(1.0, -24), half_fraction_bits) == 1);
  CHECK(round_to_16_bits(1.0, bfloat16_fraction_bits) == 0x3f80);
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits)
    CHECK(round_to_16_bits(from_16_bits(static_cast<std::uint16_t>(bits), half_fraction_bits),
                           half_fraction_bits) == bits);
}
