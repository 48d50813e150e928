// One rank's membership of a communicator whose ranks share this host: how it joins, what it holds,
// how it leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "collectives/communicator.hpp"
#include "collectives/configuration.hpp"
#include "collectives/context.hpp"
#include "collectives/driver.hpp"
#include "transport/bootstrap/group.hpp"
#include "transport/memory_importer.hpp"
#include "transport/shm/endpoint.hpp"

namespace gyre::collectives {

/// Maps peers' memory through the context's segment exchange, and keeps what it has mapped.
class ExchangeImporter final : public transport::MemoryImporter {
 public:
  ExchangeImporter(transport::SegmentExchange& exchange,
                   std::vector<transport::ExchangeAddress> addresses);
  transport::Mapping map(int peer, const transport::MappedRef& ref, std::size_t bytes) override;

 private:
  /// Mappings kept per peer; the oldest goes first.
  static constexpr std::size_t kept_max = 64;
  struct Kept {
    transport::SegmentName name;
    std::shared_ptr<const transport::MappedSegment> mapping;
  };

  transport::SegmentExchange& exchange_;
  const std::vector<transport::ExchangeAddress> addresses_;
  std::vector<std::vector<Kept>> kept_;  ///< by peer
};

/// Threads: as for the C API's communicator.
class Member {
 public:
  struct Request {
    transport::UniqueId id;
    int rank = 0;
    int size = 1;
    std::int64_t timeout_ns = 0;  ///< of joining
  };

  /// Blocks until every rank has joined, or the deadline.
  static Result<std::unique_ptr<Member>> join(Context& context, const Request& request);
  /// Leaves in order if leave() was called, else like a rank that died.
  ~Member();

  Communicator& communicator() { return *communicator_; }
  transport::shm::ShmEndpoint& endpoint() { return *endpoint_; }

  /// Where `data` lies for the other ranks; remembers the last answers.
  transport::MappedRef find_memory(const void* data, std::size_t bytes);

  /// Waits for an operation; logs the last operations if the communicator has failed.
  Status wait(std::uint64_t sequence);
  /// Advances; whether wait() would return at once.
  bool test(std::uint64_t sequence);
  /// Any thread.
  void abort();
  /// Finishes what is in flight and says goodbye.
  Status leave();

 private:
  struct Found {
    const void* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t version = 0;
    transport::MappedRef ref;
  };

  Member(Context& context, const Request& request);
  Status open(const Request& request);
  Status attach(const Request& request, Deadline deadline, const std::vector<RankRecord>& records);
  Status log_failure(Status status);

  Context& context_;
  const Log log_;
  WaitPolicy wait_policy_;
  // The order matters: what is below uses what is above.
  std::unique_ptr<ExchangeImporter> importer_;
  std::unique_ptr<transport::shm::ShmEndpoint> endpoint_;
  std::unique_ptr<transport::Group> group_;  ///< its callbacks use endpoint_
  std::unique_ptr<Communicator> communicator_;
  std::uint64_t progress_number_ = 0;
  Found found_[2];
  int next_found_ = 0;
  bool failure_logged_ = false;
};

}  // namespace gyre::collectives
