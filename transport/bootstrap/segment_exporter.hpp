// The owner's side of the segment exchange: numbers segments, and serves their descriptors to
// processes that know the key and belong to the same user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/bootstrap/acceptor.hpp"
#include "transport/bootstrap/connection.hpp"
#include "transport/bootstrap/messages.hpp"
#include "transport/bootstrap/segment_exchange.hpp"

namespace gyre::transport {

class SegmentExporter {
 public:
  explicit SegmentExporter(ControlThread& control);
  /// Control thread.
  ~SegmentExporter();
  SegmentExporter(const SegmentExporter&) = delete;
  SegmentExporter& operator=(const SegmentExporter&) = delete;

  /// Control thread: begins to serve.
  Status serve(UniqueFd listening, const Secret& key);

  // Any thread.
  Result<SegmentName> add(const SegmentExchange::Export& segment);
  void withdraw(SegmentName name);
  /// Our own segment; null when there is none of that name.
  std::shared_ptr<const MappedSegment> find(SegmentName name) const;

 private:
  struct Slot {
    std::uint32_t generation = 0;
    UniqueFd memfd;  ///< empty: the number is free
    std::uint64_t offset = 0;
    std::shared_ptr<MappedSegment> own;
  };
  using Connections = std::list<std::shared_ptr<Connection>>;

  void on_client(Client client);
  bool on_message(Connection& connection, std::span<const std::byte> message);
  const Slot* slot_of(SegmentName name) const;

  ControlThread& control_;
  Secret key_ = {};
  std::unique_ptr<Acceptor> acceptor_;
  Connections connections_;

  mutable std::mutex mutex_;  // guards all below
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;  ///< numbers to use again
};

}  // namespace gyre::transport
