#include "transport/sim/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gyre::transport {
namespace {

/// Number of `peer` among the readers of `from`'s cast link: all others, in order.
int cast_reader(int from, int peer) { return peer < from ? peer : peer - 1; }

/// Where an announcement's payload was not told.
constexpr std::byte untold{0xa5};

}  // namespace

SimEndpoint::SimEndpoint(SimNetwork& network, int rank)
    : network_(network),
      core_(network.core_),
      rank_(rank),
      views_(static_cast<std::size_t>(network.ranks())) {
  cast_send_ = std::make_unique<SimSendLink>(network.cast(rank));
  for (int peer = 0; peer < network.ranks(); ++peer) {
    const bool self = peer == rank;
    send_.push_back(self ? nullptr : std::make_unique<SimSendLink>(network.channel(rank, peer)));
    recv_.push_back(self ? nullptr : std::make_unique<SimRecvLink>(network.channel(peer, rank), 0));
    cast_recv_.push_back(
        self ? nullptr
             : std::make_unique<SimRecvLink>(network.cast(peer), cast_reader(peer, rank)));
  }
}

bool SimEndpoint::may_announce(std::uint64_t sequence) const {
  return std::all_of(views_.begin(), views_.end(), [&](const View& view) {
    return &view == &views_[index(rank_)] || sequence <= view.announced + announcements_ahead_max;
  });
}

bool SimEndpoint::announce(std::uint64_t sequence, const Announcement& announcement,
                           std::size_t payload_bytes) {
  View& own = views_[index(rank_)];
  if (sequence != own.announced + 1)
    core_.violation(
        fmt::format("rank {} announced operation {} after {}", rank_, sequence, own.announced));
  if (!may_announce(sequence) || core_.chance(core_.profile().announce_busy_percent)) {
    ++core_.coverage().announce_busy;
    core_.queue().push(
        {core_.arrival(rank_, 1'000, 0), SimEvent::Kind::wake, rank_, -1, -1, -1, 0});
    return false;
  }
  own.announced = sequence;
  announcements_[sequence % kept] = {sequence, announcement, payload_bytes};
  const auto* payload = announcement.payload.data();
  if (!core_.act(
          rank_, SimAct::announce, sequence,
          sim_hash(payload, payload_bytes) ^ announcement.header[0] ^ announcement.header[1]))
    return true;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    View& view = views_[index(peer)];
    const Nanoseconds delay = core_.profile().announcement.draw(core_.random());
    view.announcement_at = core_.arrival(rank_, delay, view.announcement_at);
    core_.queue().push(
        {view.announcement_at, SimEvent::Kind::announcement, peer, rank_, -1, -1, sequence});
  }
  return true;
}

bool SimEndpoint::announced(int peer, std::uint64_t sequence, Announcement& announcement,
                            std::size_t payload_bytes) {
  if (views_[index(peer)].announced < sequence) return false;
  const Announced& kept_one = network_.endpoints_[index(peer)]->announcements_[sequence % kept];
  if (kept_one.sequence != sequence)
    core_.violation(fmt::format("rank {} read announcement {} of rank {} when it was overwritten",
                                rank_, sequence, peer));
  std::copy(std::begin(kept_one.announcement.header), std::end(kept_one.announcement.header),
            announcement.header);
  // What was not told has no value that a rank may rely on.
  for (std::size_t i = 0; i < payload_bytes; ++i)
    announcement.payload[i] =
        i < kept_one.payload_bytes ? kept_one.announcement.payload[i] : untold;
  return true;
}

void SimEndpoint::leave(std::uint64_t sequence) {
  View& own = views_[index(rank_)];
  if (sequence <= own.left)
    core_.violation(fmt::format("rank {} left operation {} after {}", rank_, sequence, own.left));
  own.left = sequence;
  if (!core_.act(rank_, SimAct::leave, sequence)) return;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    View& view = views_[index(peer)];
    const Nanoseconds delay = core_.profile().leave.draw(core_.random());
    view.leave_at = core_.arrival(rank_, delay, view.leave_at);
    core_.queue().push({view.leave_at, SimEvent::Kind::leave, peer, rank_, -1, -1, sequence});
  }
}

Mapping SimEndpoint::map(int peer, const MappedRef& ref, std::size_t bytes) {
  std::byte* const data = network_.memory_.resolve(peer, ref, bytes);
  if (!maps_memory() || !data) return {Mapping::State::refused, nullptr};
  if (peer == rank_) return {Mapping::State::ready, data};
  const auto [entry, is_new] = imports_.try_emplace({peer, ref.segment, ref.generation});
  Import& import = entry->second;
  if (is_new) {
    core_.act(rank_, SimAct::map, static_cast<std::uint64_t>(peer), ref.segment);
    import.number = imports_.size();
    if (core_.chance(core_.profile().import_refused_percent)) {
      import.state = Mapping::State::refused;
      ++core_.coverage().imports_refused;
    } else {
      const Nanoseconds delay = core_.profile().import.draw(core_.random());
      core_.queue().push({core_.arrival(rank_, delay, 0), SimEvent::Kind::import, rank_, peer, -1,
                          -1, import.number});
    }
  }
  if (import.state == Mapping::State::pending) ++core_.coverage().imports_pending;
  return {import.state, import.state == Mapping::State::ready ? data : nullptr};
}

bool SimEndpoint::pump() {
  if (!core_.carries_messages()) return false;
  bool moved = network_.cast(rank_).pump_sender();
  bool left_some = false;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_ || !has_from(peer)) continue;
    if (core_.chance(core_.profile().pump_partial_percent)) {
      left_some = true;
      continue;
    }
    moved = true;
    network_.channel(rank_, peer).pump_sender();
    network_.channel(peer, rank_).pump_reader(0);
    network_.cast(peer).pump_reader(cast_reader(peer, rank_));
    View& view = views_[index(peer)];
    view.announced = view.announced_arrived;
    view.left = view.left_arrived;
  }
  if (left_some) {
    ++core_.coverage().partial_pumps;
    core_.queue().push(
        {core_.arrival(rank_, 1'000, 0), SimEvent::Kind::wake, rank_, -1, -1, -1, 0});
  }
  return moved;
}

/// Whether a pump would show something that came from `peer`.
bool SimEndpoint::has_from(int peer) const {
  const View& view = views_[index(peer)];
  return view.announced != view.announced_arrived || view.left != view.left_arrived ||
         network_.channel(rank_, peer).has_for_sender() ||
         network_.channel(peer, rank_).has_for_reader(0) ||
         network_.cast(peer).has_for_reader(cast_reader(peer, rank_));
}

void SimEndpoint::abort(const Failure& failure) {
  if (failure.code == Code::ok)
    core_.violation(fmt::format("rank {} aborted without a reason", rank_));
  if (!core_.act(rank_, SimAct::abort, static_cast<std::uint64_t>(failure.code),
                 static_cast<std::uint64_t>(failure.rank)))
    return;
  network_.fail(failure, rank_);
}

void SimEndpoint::prepare_sleep() {
  SimRank& self = core_.rank(rank_);
  self.asleep = true;
  self.bell = false;
}

void SimEndpoint::sleep(std::int64_t timeout_ns) {
  SimRank& self = core_.rank(rank_);
  if (!self.asleep) core_.violation(fmt::format("rank {} sleeps unprepared", rank_));
  if (self.bell) return cancel_sleep();
  self.sleeps_until = core_.now() + std::max<std::int64_t>(timeout_ns, 0);
}

void SimEndpoint::cancel_sleep() {
  SimRank& self = core_.rank(rank_);
  self.asleep = self.bell = false;
  self.sleeps_until = 0;
}

void SimEndpoint::on_announcement(int peer, std::uint64_t sequence) {
  View& view = views_[index(peer)];
  view.announced_arrived = std::max(view.announced_arrived, sequence);
  if (!core_.carries_messages()) view.announced = view.announced_arrived;
  core_.wake(rank_);
}

void SimEndpoint::on_leave(int peer, std::uint64_t sequence) {
  View& view = views_[index(peer)];
  view.left_arrived = std::max(view.left_arrived, sequence);
  if (!core_.carries_messages()) view.left = view.left_arrived;
  core_.wake(rank_);
}

void SimEndpoint::on_import(std::uint64_t number) {
  for (auto& [key, import] : imports_)
    if (import.number == number) import.state = Mapping::State::ready;
  core_.wake(rank_);
}

}  // namespace gyre::transport
