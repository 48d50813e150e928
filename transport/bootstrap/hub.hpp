// Rank 0's side of the star: admits the ranks, collects and spreads records, relays failures, and
// knows at each deadline who is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/bootstrap/acceptor.hpp"
#include "transport/bootstrap/connection.hpp"
#include "transport/bootstrap/listener.hpp"
#include "transport/bootstrap/messages.hpp"
#include "transport/bootstrap/star.hpp"

namespace gyre::transport {

/// Control thread only.
class Hub final : public Star {
 public:
  /// Begins exchange 0, the join. `listener` may be null where `size` is 1.
  Hub(ControlThread& control, std::unique_ptr<Listener> listener, int size, StarEvents& events);
  ~Hub() override;

  void contribute(std::uint32_t sequence, std::span<const std::byte> record,
                  std::uint32_t timeout_ms, Deadline deadline) override;
  void spread(const GroupFailure& failure) override;
  void say_goodbye() override;

 private:
  struct Member {
    std::shared_ptr<Connection> connection;  ///< null for rank 0 and for those not yet here
    bool departed = false;
  };
  /// The exchange that is going on. Its deadline is the earliest of those who wait in it, so that
  /// all of them hear who is missing.
  struct Round {
    std::uint32_t sequence = join_sequence;
    std::vector<std::optional<std::vector<std::byte>>> records;
    int missing = 0;
    std::uint32_t timeout_ms = 0;
    Deadline deadline;
    ControlThread::Timer expiry;
  };

  void on_client(Client client);
  Status admissible(const Hello& hello) const;
  bool on_message(int rank, std::span<const std::byte> message);
  bool on_goodbye(int rank);
  void on_closed(int rank, const Status& why);
  bool take(int rank, const Contribution& contribution);
  void begin_round(std::uint32_t sequence);
  void finish_round();
  void close_listener();
  void check_departed();
  void expire();
  std::string names_of_missing() const;
  void fail(const GroupFailure& failure);
  void send_all(const SharedBytes& framed, int but = -1);

  ControlThread& control_;
  std::unique_ptr<Listener> listener_;
  const UniqueId id_;
  const int size_;
  StarEvents& events_;
  std::vector<Member> members_;
  Round round_;
  bool failed_ = false;
};

}  // namespace gyre::transport
