// Every other rank's side of the star: one connection to rank 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "transport/bootstrap/connection.hpp"
#include "transport/bootstrap/connector.hpp"
#include "transport/bootstrap/star.hpp"

namespace gyre::transport {

/// Control thread only.
class Spoke final : public Star {
 public:
  Spoke(ControlThread& control, const UniqueId& id, int rank, int size, StarEvents& events);
  ~Spoke() override;

  /// Exchange 0 connects.
  void contribute(std::uint32_t sequence, std::span<const std::byte> record,
                  std::uint32_t timeout_ms, Deadline deadline) override;
  void spread(const GroupFailure& failure) override;
  void say_goodbye() override;

 private:
  void connect(std::uint32_t timeout_ms, Deadline deadline);
  void on_connected(Result<UniqueFd> socket);
  bool on_message(std::span<const std::byte> message);
  void on_closed(const Status& why);
  void wait_for_verdict(std::uint32_t timeout_ms, Deadline deadline);

  ControlThread& control_;
  const UniqueId id_;
  const int rank_;
  const int size_;
  StarEvents& events_;
  std::unique_ptr<Connector> connector_;
  std::shared_ptr<Connection> connection_;
  ControlThread::Timer verdict_;
  bool hub_departed_ = false;
};

}  // namespace gyre::transport
