// N ranks of one communicator in one thread, over a real shared segment: each is advanced in turn,
// so a test sees every message and nothing depends on timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/communicator.hpp"
#include "transport/shm/endpoint.hpp"

namespace gyre::test {

class LocalWorld {
 public:
  struct Sent {
    int rank;
    collectives::Trace::Sent what;
  };

  LocalWorld(int size, const collectives::Tuning& tuning);

  int size() const { return static_cast<int>(ranks_.size()); }
  collectives::Communicator& communicator(int rank) { return *ranks_[index(rank)].communicator; }
  const std::vector<Sent>& sent() const { return sent_; }
  std::uint64_t bytes_sent(int rank) { return communicator(rank).bytes_sent(); }

  /// Starts `call` on every rank with inputs[rank] and outputs[rank].
  void start(const collectives::Call& call, const std::vector<std::vector<float>>& inputs,
             std::vector<std::vector<float>>& outputs);
  /// Advances the ranks in turn until all have finished; false when nobody can go on.
  bool run();

 private:
  struct Recorder final : collectives::Trace {
    LocalWorld* world = nullptr;
    int rank = 0;
    void sent(const Sent& what) override { world->sent_.push_back({rank, what}); }
  };
  struct Rank {
    std::unique_ptr<Recorder> recorder;
    std::unique_ptr<transport::shm::ShmEndpoint> endpoint;
    std::unique_ptr<collectives::Communicator> communicator;
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  std::vector<Rank> ranks_;
  std::vector<Sent> sent_;
};

}  // namespace gyre::test
