// Medians, means, bandwidths, and how replies of all ranks become one figure.
#include "bench/statistics.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace gyre;
using namespace gyre::bench;
using Catch::Approx;

TEST_CASE("medians and geometric means") {
  CHECK(median({}) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(geometric_mean(std::vector<double>{1, 4}) == Approx(2));
  CHECK(geometric_mean(std::vector<double>{}) == 0);
  CHECK(geometric_mean(std::vector<double>{1, 0}) == 0);
}

TEST_CASE("a figure goes from the first start to the last end, less the bare loop") {
  Reply a;
  a.start_ns = 1000;
  a.end_ns = 9000;
  a.bare_start_ns = 0;
  a.bare_end_ns = 900;
  a.p50_ns = 100;
  a.p99_ns = 900;
  a.bytes_sent = 40;
  Reply b = a;
  b.start_ns = 2000;
  b.end_ns = 11000;
  b.bare_start_ns = 100;
  b.bare_end_ns = 1000;
  b.p50_ns = 300;
  b.p99_ns = 500;
  b.wrong = 3;
  const Reply both[] = {a, b};
  const auto figure = figure_of(both, 10);
  CHECK(figure.time_us == Approx((10.0 - 1.0) / 10));
  CHECK(figure.whole_us == Approx(1));
  CHECK(figure.p50_us == Approx(0.3));
  CHECK(figure.p99_us == Approx(0.9));
  CHECK(figure.wrong == 3);
  CHECK(figure.wrong_rank == 1);
  CHECK(figure.bytes_sent == std::vector<std::uint64_t>{4, 4});
}

TEST_CASE("a loop that is faster with the call than without is noise, not negative time") {
  Reply reply;
  reply.bare_end_ns = 100;
  reply.end_ns = 50;
  CHECK(figure_of(std::vector<Reply>{reply}, 1).time_us == time_us_min);
  CHECK(figure_of({}, 1).time_us == 0);
}

TEST_CASE("bandwidths are as nccl-tests defines them") {
  CHECK(algbw_gbps(1'000'000, 1000) == Approx(1));
  CHECK(busbw_gbps(Collective::all_reduce, 1'000'000, 1000, 4) == Approx(1.5));
  CHECK(busbw_gbps(Collective::reduce_scatter, 1'000'000, 1000, 4) == Approx(0.75));
  CHECK(busbw_gbps(Collective::all_gather, 1'000'000, 1000, 4) == Approx(0.75));
  CHECK(busbw_gbps(Collective::broadcast, 1'000'000, 1000, 4) == Approx(1));
}

TEST_CASE("the least memory traffic of an all-reduce is 2 N M") {
  CHECK(least_traffic_bytes(Collective::all_reduce, 100, 2) == 400);
  CHECK(least_traffic_bytes(Collective::all_gather, 100, 2) == 300);
}

TEST_CASE(
    "iterations fill the faster turn, within 8 times that for the slower, and are two at least") {
  CHECK(iterations_for(1, 1, 20) == 20'000);
  CHECK(iterations_for(1, 100, 20) == 1'600);
  CHECK(iterations_for(1e6, 1e6, 20) == 2);
  CHECK(iterations_for(0, 0, 60'000) == iterations_max / 100);
}
