// The ring's promise, counted where messages are stored: 2(N-1) M bytes over all ranks, nothing to
// anyone but the next rank, 2(N-1) steps. And that the count would notice one chunk too many.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <set>
#include <vector>

#include "tests/collectives/local_world.hpp"

namespace gyre::test {
namespace {

using collectives::Call;
using collectives::Rule;
using collectives::Tuning;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

const schedules::Schedule* ring() {
  return schedules::find_schedule(Collective::all_reduce, "ring");
}

/// The ring with its first message sent twice.
const schedules::Schedule doubled{
    Collective::all_reduce, "doubled", schedules::Needs::slots,
    [](const schedules::Plan& plan) { return ring()->steps(plan) + 1; },
    [](const schedules::Plan& plan, std::uint64_t step) {
      return ring()->action(plan, step == 0 ? 0 : step - 1);
    }};

/// What a run of one all_reduce over `size` ranks has shown.
struct Count {
  bool finished = false;
  bool right = true;
  std::uint64_t bytes = 0;
  std::set<std::uint32_t> stages;
  bool only_to_next = true;
};

Count count_ring(int size, std::uint64_t bytes, const schedules::Schedule* schedule) {
  Tuning tuning;
  tuning.rules = {Rule{schedule, ~std::uint64_t{0}, 1, 32768}};
  LocalWorld world(size, tuning);
  Call call;
  call.collective = Collective::all_reduce;
  call.count = bytes / sizeof(float);
  std::vector<std::vector<float>> inputs;
  for (int rank = 0; rank < size; ++rank)
    inputs.emplace_back(call.count, static_cast<float>(rank + 1));
  auto outputs = std::vector<std::vector<float>>(inputs.size(), std::vector<float>(call.count));
  world.start(call, inputs, outputs);

  Count count;
  count.finished = world.run();
  const float sum = static_cast<float>(size * (size + 1) / 2);
  for (const auto& output : outputs)
    for (const float value : output) count.right = count.right && value == sum;
  for (int rank = 0; rank < size; ++rank) count.bytes += world.bytes_sent(rank);
  for (const auto& sent : world.sent()) {
    count.stages.insert(sent.what.stage);
    count.only_to_next = count.only_to_next && sent.what.peer == (sent.rank + 1) % size;
  }
  return count;
}

}  // namespace

TEST_CASE("the ring moves exactly the bound, to the next rank only, in 2(N-1) steps") {
  const int size = GENERATE(Catch::Generators::range(2, 17));
  const std::uint64_t bytes = GENERATE(mib, mib + 4);
  INFO(size << " ranks, " << bytes << " bytes");
  const Count count = count_ring(size, bytes, ring());
  const auto ranks = static_cast<std::uint64_t>(size);
  CHECK(count.finished);
  CHECK(count.right);
  CHECK(count.bytes == 2 * (ranks - 1) * bytes);
  CHECK(count.stages.size() == 2 * (ranks - 1));
  CHECK(count.only_to_next);
}

TEST_CASE("a chunk sent twice is noticed") {
  const Count count = count_ring(4, mib, &doubled);
  CHECK((!count.finished || !count.right || count.bytes != 2 * 3 * mib));
  CHECK(count.bytes != 2 * 3 * mib);
}

}  // namespace gyre::test
