#include "transport/sim/network.hpp"

#include <algorithm>

#include "transport/sim/channel.hpp"
#include "transport/sim/endpoint.hpp"

namespace gyre::transport {
namespace {

/// Per rank and run: each makes a step, which may make the next.
constexpr int spurious_wakes_max = 200;

}  // namespace

SimNetwork::SimNetwork(const SimOptions& options) : core_(options) {
  const int ranks = options.ranks;
  int id = 0;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      channels_.push_back(std::make_unique<SimChannel>(core_, id++, from, std::vector<int>{to}, 1));
  const bool to_each = options.kind == LinkKind::memory && options.profile.cast_to_each;
  for (int from = 0; from < ranks; ++from) {
    std::vector<int> readers;
    for (int to = 0; to < ranks; ++to)
      if (to != from) readers.push_back(to);
    channels_.push_back(std::make_unique<SimChannel>(core_, id++, from, readers,
                                                     to_each ? std::max(ranks - 1, 1) : 1));
  }
  for (int rank = 0; rank < ranks; ++rank)
    endpoints_.push_back(std::make_unique<SimEndpoint>(*this, rank));
}

SimNetwork::~SimNetwork() = default;

Endpoint& SimNetwork::endpoint(int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }

SimChannel& SimNetwork::channel(int from, int to) {
  return *channels_[static_cast<std::size_t>(from * ranks() + to)];
}

SimChannel& SimNetwork::cast(int from) {
  return *channels_[static_cast<std::size_t>(ranks() * ranks() + from)];
}

Nanoseconds SimNetwork::next_event_at() const {
  return core_.queue().empty() ? SimPause::forever : core_.queue().next_at();
}

void SimNetwork::advance(Nanoseconds to) {
  core_.set_now(std::max(core_.now(), to));
  while (next_event_at() <= core_.now()) handle(core_.queue().pop());
}

void SimNetwork::handle(const SimEvent& event) {
  core_.trace().add(event.at, event.kind, event.rank, event.peer, event.channel, event.reader,
                    event.value);
  SimEndpoint& endpoint = *endpoints_[static_cast<std::size_t>(event.rank)];
  const auto channel = static_cast<std::size_t>(event.channel);
  switch (event.kind) {
    case SimEvent::Kind::message: return channels_[channel]->on_message(event.reader, event.value);
    case SimEvent::Kind::credit: return channels_[channel]->on_credit(event.reader, event.value);
    case SimEvent::Kind::source: return channels_[channel]->on_source(event.value);
    case SimEvent::Kind::announcement: return endpoint.on_announcement(event.peer, event.value);
    case SimEvent::Kind::leave: return endpoint.on_leave(event.peer, event.value);
    case SimEvent::Kind::import: return endpoint.on_import(event.value);
    case SimEvent::Kind::death: return fail({.code = Code::peer_failed, .rank = event.peer}, -1);
    case SimEvent::Kind::abort: return show_failure(event.rank);
    case SimEvent::Kind::wake: return core_.wake(event.rank);
  }
}

void SimNetwork::fail(const Failure& failure, int witness) {
  if (failure_.code == Code::ok) {
    failure_ = failure;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (rank == witness || core_.rank(rank).dead) continue;
      const Nanoseconds delay = core_.profile().abort_notice.draw(core_.random());
      core_.queue().push({core_.now() + delay, SimEvent::Kind::abort, rank, witness, -1, -1, 0});
    }
  }
  if (witness >= 0) show_failure(witness);
}

/// From here on the transport touches nothing that belongs to `rank`'s user.
void SimNetwork::show_failure(int rank) {
  SimRank& self = core_.rank(rank);
  if (self.saw_failure || self.dead) return;
  self.saw_failure = true;
  ++core_.coverage().aborts;
  cast(rank).forget_sources();
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank) continue;
    channel(rank, peer).forget_sources();
    channel(peer, rank).forget_place(0);
    cast(peer).forget_place(rank < peer ? rank : rank - 1);
  }
  core_.wake(rank);
}

bool SimNetwork::take_ring(int rank) { return std::exchange(core_.rank(rank).rung, false); }

bool SimNetwork::begin_step(int rank) {
  SimRank& self = core_.rank(rank);
  if (self.dead || core_.stopped(rank)) return false;
  if (self.sleeps_until != 0) {
    self.sleeps_until = 0;
    self.asleep = self.bell = false;
  }
  const bool goes_on = core_.act(rank, SimAct::step) && !core_.stopped(rank);
  end_step(rank);
  return goes_on;
}

void SimNetwork::end_step(int rank) {
  SimRank& self = core_.rank(rank);
  if (self.spurious_wakes < spurious_wakes_max &&
      core_.chance(core_.profile().spurious_wake_percent)) {
    ++self.spurious_wakes;
    ++core_.coverage().spurious_wakes;
    core_.queue().push({core_.now() + 1 + core_.profile().message.draw(core_.random()),
                        SimEvent::Kind::wake, rank, -1, -1, -1, 0});
  }
  for (int dead = core_.take_death(); dead >= 0; dead = core_.take_death()) {
    cast(dead).cut();
    for (int peer = 0; peer < ranks(); ++peer)
      if (peer != dead) channel(dead, peer).cut();
    const Nanoseconds delay = core_.profile().death_notice.draw(core_.random());
    core_.queue().push({core_.now() + delay, SimEvent::Kind::death, 0, dead, -1, -1, 0});
  }
}

Nanoseconds SimNetwork::step_cost(int rank) {
  const Nanoseconds cost = core_.profile().step.draw(core_.random());
  const int factor = rank == core_.profile().slow_rank ? core_.profile().slow_factor : 1;
  return std::max<Nanoseconds>(cost, 1) * factor;
}

bool SimNetwork::sleeps(int rank) const {
  const SimRank& self = core_.rank(rank);
  return self.sleeps_until > core_.now() && !self.bell;
}

}  // namespace gyre::transport
