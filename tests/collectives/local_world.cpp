#include "tests/collectives/local_world.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace gyre::test {

LocalWorld::LocalWorld(int size, const collectives::Tuning& tuning) {
  const transport::SlotShape shape{tuning.slot_bytes, tuning.slots};
  const auto layout = transport::shm::SegmentLayout::make(size, shape, shape);
  REQUIRE(layout.ok());
  auto segment = transport::shm::Segment::create(*layout, transport::shm::FenceMode::symmetric);
  REQUIRE(segment.ok());
  for (int rank = 0; rank < size; ++rank) {
    Rank& made = ranks_.emplace_back();
    made.recorder = std::make_unique<Recorder>();
    made.recorder->world = this;
    made.recorder->rank = rank;
    auto endpoint = transport::shm::ShmEndpoint::create(*segment, rank, nullptr);
    REQUIRE(endpoint.ok());
    made.endpoint = std::move(*endpoint);
    collectives::EngineOptions options;
    options.tuning = tuning;
    options.trace = made.recorder.get();
    made.communicator = std::make_unique<collectives::Communicator>(*made.endpoint, options);
  }
}

void LocalWorld::start(const collectives::Call& call, const std::vector<std::vector<float>>& inputs,
                       std::vector<std::vector<float>>& outputs) {
  for (int rank = 0; rank < size(); ++rank) {
    collectives::Buffers buffers;
    buffers.input = reinterpret_cast<const std::byte*>(inputs[index(rank)].data());
    buffers.output = reinterpret_cast<std::byte*>(outputs[index(rank)].data());
    REQUIRE(communicator(rank).start(call, buffers, 1).ok());
  }
}

bool LocalWorld::run() {
  for (;;) {
    bool all_finished = true;
    bool moved = false;
    for (int rank = 0; rank < size(); ++rank) {
      auto& communicator = this->communicator(rank);
      const auto* before = communicator.current();
      const std::uint64_t step = before ? before->step : 0;
      const auto state = before ? before->state : collectives::OperationState::finished;
      const auto progress = communicator.progress();
      if (progress == collectives::Progress::failed) return false;
      const auto* after = communicator.current();
      all_finished = all_finished && !after;
      moved = moved || progress != collectives::Progress::waiting ||
              (before && after && (after->step != step || after->state != state));
    }
    if (all_finished) return true;
    if (!moved) return false;
  }
}

}  // namespace gyre::test
