// What is refused before anything is touched, and in which words.
#include "collectives/arguments.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <cstdint>

using Catch::Matchers::ContainsSubstring;
using gyre::Code;
using gyre::Collective;
using gyre::collectives::Arguments;
using gyre::collectives::check;

namespace {

constexpr int float32 = static_cast<int>(gyre::DataType::float32);
constexpr int sum = static_cast<int>(gyre::ReduceOp::sum);

std::array<float, 100> buffer;

Arguments all_reduce(const void* send, void* recv, std::size_t count) {
  return {Collective::all_reduce, send, recv, count, float32, sum, 0};
}

void require_refused(const Arguments& arguments, const std::string& words, int rank = 1,
                     int size = 4) {
  const auto call = check(arguments, rank, size);
  REQUIRE_FALSE(call.ok());
  CHECK(call.status().code() == Code::invalid_argument);
  CHECK_THAT(call.status().message(), ContainsSubstring(words));
}

}  // namespace

TEST_CASE("good arguments become a call that counts the larger buffer") {
  CHECK(check(all_reduce(&buffer[0], &buffer[50], 50), 1, 4)->count == 50);
  const auto gather =
      check({Collective::all_gather, &buffer[0], &buffer[10], 10, float32, 0, 0}, 1, 4);
  CHECK(gather->count == 40);
  CHECK(check(Arguments{}, 0, 1)->collective == Collective::barrier);
}

TEST_CASE("null buffers are refused unless the count is 0") {
  require_refused(all_reduce(nullptr, &buffer[0], 1), "send is null");
  require_refused(all_reduce(&buffer[0], nullptr, 1), "recv is null");
  CHECK(check(all_reduce(nullptr, nullptr, 0), 1, 4).ok());
}

TEST_CASE("only the root of a broadcast needs something to send") {
  const Arguments broadcast{Collective::broadcast, nullptr, &buffer[0], 5, float32, 0, 2};
  CHECK(check(broadcast, 1, 4).ok());
  require_refused(broadcast, "send is null", 2);
}

TEST_CASE("unknown numbers are refused with the known ones named") {
  Arguments arguments = all_reduce(&buffer[0], &buffer[0], 1);
  arguments.type = 77;
  require_refused(arguments, "unknown dtype 77; there are float, double, half");
  arguments.type = 7 + 256;
  require_refused(arguments, "unknown dtype 263");
  arguments.type = float32;
  arguments.op = -1;
  require_refused(arguments, "unknown op -1; there are sum, min, max, avg");
  require_refused({Collective::broadcast, &buffer[0], &buffer[0], 1, float32, 0, 4},
                  "root 4 is not a rank; there are ranks 0 to 3");
}

TEST_CASE("a count that no memory holds is refused before it is multiplied") {
  require_refused(all_reduce(&buffer[0], &buffer[0], SIZE_MAX), "more than memory can hold");
  require_refused({Collective::all_gather, &buffer[0], &buffer[0], SIZE_MAX / 8, float32, 0, 0},
                  "more than memory can hold");
}

TEST_CASE("buffers overlap only where an operation in place has them") {
  CHECK(check(all_reduce(&buffer[0], &buffer[0], 50), 1, 4).ok());
  require_refused(all_reduce(&buffer[0], &buffer[1], 50), "send and recv overlap, 4 bytes apart");
  require_refused(all_reduce(&buffer[49], &buffer[0], 50), "overlap");
  // rank 1 of 4, parts of 10
  const auto scatter = [](int recv) {
    return Arguments{Collective::reduce_scatter,
                     &buffer[0],
                     &buffer[static_cast<std::size_t>(recv)],
                     10,
                     float32,
                     sum,
                     0};
  };
  CHECK(check(scatter(10), 1, 4).ok());
  CHECK(check(scatter(40), 1, 4).ok());
  require_refused(scatter(0), "recv = send + rank * recv_count");
  const auto gather = [](int send) {
    return Arguments{Collective::all_gather,
                     &buffer[static_cast<std::size_t>(send)],
                     &buffer[0],
                     10,
                     float32,
                     0,
                     0};
  };
  CHECK(check(gather(10), 1, 4).ok());
  require_refused(gather(0), "send = recv + rank * send_count");
}
