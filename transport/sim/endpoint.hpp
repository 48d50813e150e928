// What one rank has of a SimNetwork.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/sim/channel.hpp"
#include "transport/sim/network.hpp"

namespace gyre::transport {

class SimEndpoint final : public Endpoint {
 public:
  SimEndpoint(SimNetwork& network, int rank);

  int rank() const override { return rank_; }
  int size() const override { return network_.ranks(); }
  LinkKind kind() const override { return core_.options().kind; }
  SlotShape shape() const override { return core_.options().shape; }
  bool maps_memory() const override { return core_.options().maps_memory; }

  SendLink& to(int peer) override { return *send_[index(peer)]; }
  RecvLink& from(int peer) override { return *recv_[index(peer)]; }
  SendLink& to_all() override { return *cast_send_; }
  RecvLink& cast_from(int peer) override { return *cast_recv_[index(peer)]; }

  bool announce(std::uint64_t sequence, const Announcement& announcement,
                std::size_t payload_bytes) override;
  bool announced(int peer, std::uint64_t sequence, Announcement& announcement,
                 std::size_t payload_bytes) override;
  std::uint64_t last_announced(int peer) const override { return views_[index(peer)].announced; }
  void leave(std::uint64_t sequence) override;
  bool has_left(int peer, std::uint64_t sequence) override {
    return views_[index(peer)].left >= sequence;
  }
  void note(std::uint64_t standing) override { core_.note(rank_, standing); }
  std::uint64_t noted(int peer) const override { return core_.rank(peer).noted; }
  /// Simulated ranks die or stay.
  bool has_departed(int) const override { return false; }
  Mapping map(int peer, const MappedRef& ref, std::size_t bytes) override;
  bool pump() override;

  bool aborted() const override { return core_.rank(rank_).saw_failure; }
  Failure failure() const override { return aborted() ? network_.failure_ : Failure{}; }
  void abort(const Failure& failure) override;

  void prepare_sleep() override;
  void sleep(std::int64_t timeout_ns) override;
  void cancel_sleep() override;
  void wake() override { core_.wake(rank_); }

  void on_announcement(int peer, std::uint64_t sequence);
  void on_leave(int peer, std::uint64_t sequence);
  void on_import(std::uint64_t number);

 private:
  /// Announcements kept: those that may be ahead, those being read, rounded up.
  static constexpr std::size_t kept = 32;
  static_assert(kept > announcements_ahead_max);

  struct Announced {
    std::uint64_t sequence = 0;
    Announcement announcement;
    std::size_t payload_bytes = 0;
  };
  /// What this rank knows of a peer; `...arrived` waits for a pump on message links.
  struct View {
    std::uint64_t announced_arrived = 0;
    std::uint64_t announced = 0;
    std::uint64_t left_arrived = 0;
    std::uint64_t left = 0;
    Nanoseconds announcement_at = 0;  ///< when this rank's newest reaches the peer
    Nanoseconds leave_at = 0;
  };
  struct Import {
    std::uint64_t number = 0;
    Mapping::State state = Mapping::State::pending;
  };
  using ImportKey = std::tuple<int, std::uint32_t, std::uint32_t>;  ///< peer, segment, generation

  static std::size_t index(int peer) { return static_cast<std::size_t>(peer); }
  bool may_announce(std::uint64_t sequence) const;
  bool has_from(int peer) const;

  SimNetwork& network_;
  SimCore& core_;
  int rank_;
  std::vector<std::unique_ptr<SimSendLink>> send_;
  std::vector<std::unique_ptr<SimRecvLink>> recv_;
  std::unique_ptr<SimSendLink> cast_send_;
  std::vector<std::unique_ptr<SimRecvLink>> cast_recv_;
  std::vector<View> views_;
  std::array<Announced, kept> announcements_{};
  std::map<ImportKey, Import> imports_;
};

}  // namespace gyre::transport
