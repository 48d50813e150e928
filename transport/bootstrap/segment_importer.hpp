// The user's side of the segment exchange: a bounded cache of other processes' segments, and one
// connection to each owner, over which descriptors come and withdrawals are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "transport/bootstrap/connection.hpp"
#include "transport/bootstrap/connector.hpp"
#include "transport/bootstrap/messages.hpp"
#include "transport/bootstrap/segment_exchange.hpp"

namespace gyre::transport {

class SegmentImporter {
 public:
  explicit SegmentImporter(ControlThread& control);
  /// Control thread.
  ~SegmentImporter();
  SegmentImporter(const SegmentImporter&) = delete;
  SegmentImporter& operator=(const SegmentImporter&) = delete;

  /// Any thread.
  SegmentLookup lookup(const ExchangeAddress& owner, SegmentName name);

  // Control thread.
  std::uint64_t on_progress(std::function<void()> callback);
  void stop_progress(std::uint64_t number) { callbacks_.erase(number); }

 private:
  using State = SegmentLookup::State;
  struct Key {
    ExchangeAddress owner;
    SegmentName name;
    auto tuple() const { return std::tie(owner.name, owner.key, name.segment, name.generation); }
    bool operator<(const Key& other) const { return tuple() < other.tuple(); }
  };
  struct Entry {
    State state = State::pending;
    std::shared_ptr<MappedSegment> mapping;
    std::string reason;
    std::list<Key>::iterator age;  ///< its place in ages_
  };
  using Entries = std::map<Key, Entry>;
  /// An owner that we are connected to, or try to be.
  struct Owner {
    std::unique_ptr<Connector> connector;
    std::shared_ptr<Connection> connection;
    std::vector<SegmentName> waiting;  ///< to be asked for when connected
  };
  struct ByAddress {
    bool operator()(const ExchangeAddress& a, const ExchangeAddress& b) const {
      return std::tie(a.name, a.key) < std::tie(b.name, b.key);
    }
  };

  bool make_room();
  void fetch(const Key& key);
  void connect(const ExchangeAddress& address, Owner& owner);
  void on_connected(const ExchangeAddress& address, Result<UniqueFd> socket);
  bool on_message(const ExchangeAddress& address, std::span<const std::byte> message);
  bool on_answer(const ExchangeAddress& address, const SegmentAnswer& answer);
  void on_withdrawal(const ExchangeAddress& address, const Withdrawal& withdrawal);
  void forget(const ExchangeAddress& address, const std::string& why);
  void settle(const Key& key, Result<SharedMapping> outcome);
  void tell_progress();

  ControlThread& control_;
  std::map<ExchangeAddress, Owner, ByAddress> owners_;
  std::map<std::uint64_t, std::function<void()>> callbacks_;
  std::uint64_t next_callback_ = 1;

  std::mutex mutex_;  // guards all below
  Entries entries_;
  std::list<Key> ages_;  ///< the one looked up last comes first
};

}  // namespace gyre::transport
