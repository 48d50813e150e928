// Executes the actions of a schedule over an endpoint's links: the host's reader of schedules.
//
// An action either happens as a whole or leaves everything as it was and says what it waits for, so
// it can simply be tried again. On memory links results are stored straight into the peers' slots;
// on message links they are posted from user memory wherever they also stand there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/call.hpp"
#include "collectives/operation.hpp"
#include "kernels/kernels.hpp"
#include "schedules/action.hpp"
#include "transport/endpoint.hpp"

namespace gyre::collectives {

enum class Outcome : std::uint8_t {
  done,     ///< the action has happened
  waiting,  ///< nothing has happened; waiting() says for what
  failed,   ///< the endpoint has been told why (Endpoint::abort)
};

class Executor {
 public:
  /// Allocates all it needs for `endpoint.size()` ranks; nothing is allocated afterwards, except
  /// once if an operation has a larger piece than any before.
  Executor(transport::Endpoint& endpoint, std::size_t last_level_cache_bytes);

  /// Takes up `operation`, whose header is `header`. It stays referenced until the next begin.
  void begin(Operation& operation, const Header& header, Trace* trace);

  Outcome execute(const schedules::Action& action);

  /// Whether the transport no longer reads the operation's buffers.
  bool drained();

  /// Compares `peer`'s announcement with ours, once per operation; also learns its buffers.
  Outcome check_peer(int peer);

  /// Fails the communicator because `peer` called something else than this rank.
  void report_mismatch(int peer, std::uint64_t sequence, const Header& theirs, const Header& ours);

  /// Whether `peer`, already checked for this operation, has announced mappable buffers.
  bool offers_mapped(int peer) const { return peers_[static_cast<std::size_t>(peer)].offers; }

  const Waiting& waiting() const { return waiting_; }
  /// Bytes stored so far into mapped buffers of other ranks.
  std::uint64_t bytes_stored() const { return bytes_stored_; }
  /// Bytes loaded and stored by the last action that was done: what a bounded step is measured in.
  std::size_t work_bytes() const { return work_bytes_; }

 private:
  struct Peer {
    std::uint64_t checked = 0;  ///< sequence of the last announcement that was compared
    bool offers = false;        ///< it announced mappable buffers
    transport::MappedRef input_ref;
    transport::MappedRef output_ref;
    std::byte* input = nullptr;  ///< mapped, valid where mapped == sequence
    std::byte* output = nullptr;
    std::uint64_t mapped = 0;
  };
  /// A message that the transport may still be reading from user memory.
  struct Posted {
    transport::SendLink* link;
    std::uint64_t number;
    const std::byte* begin;
    const std::byte* end;
  };

  Outcome wait_event(schedules::Event event);
  Outcome find_sources(const schedules::Action& action);
  Outcome find_source(const schedules::Operand& operand, std::size_t bytes);
  Outcome find_slot(int peer, bool cast, std::size_t bytes);
  Outcome find_every(const schedules::Operand& operand, std::size_t bytes);
  Outcome find_destinations(const schedules::Action& action);
  Outcome find_send_places(const schedules::Operand& operand, std::size_t bytes);
  Outcome map_peer(int peer);

  void place_receive(const schedules::Action& action);
  void compute(const schedules::Action& action);
  Outcome send(const schedules::Action& action);
  void release_sources(const schedules::Action& action);
  const std::byte* resident(const schedules::Action& action) const;
  bool still_read(const std::byte* begin, std::size_t bytes);

  transport::SendLink& link_to(const schedules::Operand& destination);
  std::byte* local(const schedules::Operand& operand);
  std::size_t element_bytes() const { return size_of(operation_->call.type); }
  Outcome wait_for(const char* what, int peer);
  /// check_peer, without a word about what is waited for.
  Outcome learn_call(int peer);

  transport::Endpoint& endpoint_;
  const std::size_t last_level_cache_bytes_;
  const bool posts_;  ///< message links
  const int rank_;
  const int size_;

  Operation* operation_ = nullptr;
  Header header_;
  Trace* trace_ = nullptr;
  kernels::Store output_store_ = kernels::Store::regular;
  bool event_passed_ = false;  ///< the current action's wait is over
  bool computed_ = false;      ///< the current action only has to be sent (message links)
  int cursor_ = 0;             ///< ranks before it are ready for the current wait
  std::size_t work_bytes_ = 0;
  std::uint64_t bytes_stored_ = 0;
  Waiting waiting_;

  std::vector<Peer> peers_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> user_destinations_;  ///< outputs, ours and mapped ones
  std::vector<std::byte*> link_destinations_;  ///< slots and staging
  std::vector<std::byte> scratch_;
  std::vector<Posted> posted_;
};

}  // namespace gyre::collectives
