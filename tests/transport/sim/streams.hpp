// Small programs over one endpoint, for the simulator's own tests: they send and receive numbered
// messages whose bytes say who sent what, and keep the transport's rules (or break one on purpose).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "transport/sim/network.hpp"
#include "transport/sim/world.hpp"

namespace gyre::transport::test {

inline std::size_t message_bytes(std::uint64_t message, std::size_t slot_bytes) {
  return static_cast<std::size_t>(message * 37 % (slot_bytes + 1));
}

inline std::byte message_byte(int from, std::uint64_t message, std::size_t at) {
  return static_cast<std::byte>(static_cast<std::uint64_t>(from) * 89 + message * 7 + at);
}

inline void fill(std::byte* to, int from, std::uint64_t message, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = message_byte(from, message, i);
}

/// Sends `count` messages over one link.
struct Sender {
  Endpoint& endpoint;
  SendLink& link;
  std::uint64_t count;
  bool posts = false;             ///< from user memory, where the link can
  bool overwrites_early = false;  ///< breaks the rule about posted memory
  std::uint64_t sent = 0;
  std::vector<std::vector<std::byte>> buffers = {};

  /// False when there is no credit, or nothing more to do.
  bool advance() {
    const std::size_t bytes = message_bytes(sent, endpoint.shape().slot_bytes);
    if (sent == count) return false;
    if (posts) {
      std::vector<std::byte> buffer(bytes);
      fill(buffer.data(), endpoint.rank(), sent, bytes);
      if (!link.post(buffer.data(), bytes)) return false;
      buffers.push_back(std::move(buffer));
      if (overwrites_early) fill(buffers.back().data(), endpoint.rank(), sent + 1, bytes);
    } else {
      const auto places = link.reserve(bytes);
      if (places.empty()) return false;
      for (std::byte* place : places) fill(place, endpoint.rank(), sent, bytes);
      link.publish(bytes);
    }
    ++sent;
    return true;
  }
  bool done() const { return sent == count && link.released() == count; }
};

/// Receives `count` messages from one link and compares every byte.
struct Receiver {
  Endpoint& endpoint;
  RecvLink& link;
  int from;
  std::uint64_t count;
  bool places = false;  ///< wishes to receive in place
  std::uint64_t received = 0;
  std::uint64_t wrong = 0;
  std::vector<std::byte> buffer = std::vector<std::byte>(65536);

  bool advance() {
    if (received == count) return false;
    const std::size_t bytes = message_bytes(received, endpoint.shape().slot_bytes);
    if (places) link.place(buffer.data(), bytes);
    const std::byte* const data = link.peek(bytes);
    if (!data) return false;
    for (std::size_t i = 0; i < bytes; ++i) wrong += data[i] != message_byte(from, received, i);
    link.release();
    ++received;
    return true;
  }
  bool done() const { return received == count; }
};

/// A rank that runs senders and receivers side by side until all are done or it sees a failure.
struct Streams {
  Endpoint* endpoint = nullptr;
  std::vector<std::unique_ptr<Sender>> senders = {};
  std::vector<std::unique_ptr<Receiver>> receivers = {};
  Failure failure = {};

  SimStep step(Nanoseconds) {
    if (endpoint->aborted()) {
      failure = endpoint->failure();
      return SimStep::done();
    }
    bool moved = endpoint->pump();
    bool done = true;
    for (auto& sender : senders) {
      moved |= sender->advance();
      done &= sender->done();
    }
    for (auto& receiver : receivers) {
      moved |= receiver->advance();
      done &= receiver->done();
    }
    if (done) return SimStep::done();
    return moved ? SimStep::progressed() : SimStep::waiting();
  }
  std::uint64_t wrong() const {
    std::uint64_t sum = 0;
    for (const auto& receiver : receivers) sum += receiver->wrong;
    return sum;
  }
};

/// Every rank sends `count` messages to each other one, and as many over its cast link.
class AllToAll {
 public:
  AllToAll(const SimOptions& options, std::uint64_t count)
      : network_(options), ranks_(static_cast<std::size_t>(options.ranks)) {
    for (int rank = 0; rank < options.ranks; ++rank) {
      Streams& streams = ranks_[static_cast<std::size_t>(rank)];
      Endpoint& endpoint = network_.endpoint(rank);
      streams.endpoint = &endpoint;
      const bool posts = options.kind == LinkKind::message && rank % 2 == 0;
      if (options.ranks > 1) add_sender(streams, endpoint, endpoint.to_all(), count, posts);
      for (int peer = 0; peer < options.ranks; ++peer) {
        if (peer == rank) continue;
        add_sender(streams, endpoint, endpoint.to(peer), count, posts);
        add_receiver(streams, endpoint, endpoint.from(peer), peer, count);
        add_receiver(streams, endpoint, endpoint.cast_from(peer), peer, count);
      }
    }
  }

  SimOutcome run(Nanoseconds deadline = 10'000'000'000, std::uint64_t steps_max = 1'000'000) {
    std::vector<SimWorld::Program> programs;
    for (auto& streams : ranks_)
      programs.push_back([&streams](Nanoseconds now) { return streams.step(now); });
    SimWorld world(network_, std::move(programs));
    return world.run(deadline, steps_max);
  }

  SimNetwork& network() { return network_; }
  Streams& rank(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::uint64_t wrong() const {
    std::uint64_t sum = 0;
    for (const auto& streams : ranks_) sum += streams.wrong();
    return sum;
  }

 private:
  static void add_sender(Streams& streams, Endpoint& endpoint, SendLink& link, std::uint64_t count,
                         bool posts) {
    streams.senders.push_back(std::make_unique<Sender>(
        Sender{.endpoint = endpoint, .link = link, .count = count, .posts = posts}));
  }
  static void add_receiver(Streams& streams, Endpoint& endpoint, RecvLink& link, int from,
                           std::uint64_t count) {
    streams.receivers.push_back(std::make_unique<Receiver>(Receiver{.endpoint = endpoint,
                                                                    .link = link,
                                                                    .from = from,
                                                                    .count = count,
                                                                    .places = from % 2 == 0}));
  }

  SimNetwork network_;
  std::vector<Streams> ranks_;
};

}  // namespace gyre::transport::test
