// The part of a Group that lives on the control thread: it turns what the star, the sharing and the
// watch over processes report into answers for the one call that may be waiting, keeps the first
// failure, and tells the callbacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/bootstrap/completion.hpp"
#include "transport/bootstrap/group.hpp"
#include "transport/bootstrap/peer_watch.hpp"
#include "transport/bootstrap/share.hpp"
#include "transport/bootstrap/star.hpp"

namespace gyre::transport {

/// Control thread only.
class GroupState final : public StarEvents {
 public:
  using Records = std::vector<std::vector<std::byte>>;
  using RecordsDone = std::shared_ptr<Completion<Result<Records>>>;
  using SharedDone = std::shared_ptr<Completion<Result<UniqueFd>>>;

  GroupState(ControlThread& control, Group::Request request);
  ~GroupState() override;

  /// Joins, the first time; then exchanges records.
  void exchange(std::span<const std::byte> record, Deadline deadline, RecordsDone done);

  /// First half of sharing: the name under which rank 0 gives, to be exchanged; zeroes elsewhere.
  Result<AbstractName> offer(int memfd, std::size_t bytes);
  /// Second half: gives or takes.
  void share(const AbstractName& giver, Deadline deadline, SharedDone done);

  void watch(Group::OnFailure on_failure, Group::OnDeparted on_departed);
  /// A failure that this rank has noticed or caused.
  void report(GroupFailure failure);
  void goodbye();

 private:
  void on_record(std::uint32_t sequence, int rank, std::span<const std::byte> record) override;
  void on_complete(std::uint32_t sequence) override;
  void on_failure(const GroupFailure& failure) override;
  void on_departed(int rank) override;

  void open_star();
  void on_shared(Result<Shared> shared);
  Status begin_watch(Shared& shared);
  void on_ended(int rank, LastNote note);
  void on_share_expired();

  ControlThread& control_;
  Group::Request request_;
  std::unique_ptr<Star> star_;

  std::uint32_t next_sequence_ = join_sequence;
  std::uint32_t sequence_ = 0;  ///< of the exchange that records_done_ waits for
  Records records_;
  RecordsDone records_done_;

  std::optional<ShareTerms> terms_;
  std::unique_ptr<ShareGiver> giver_;
  std::unique_ptr<ShareTaker> taker_;
  SharedDone shared_done_;
  ControlThread::Timer share_expiry_;
  std::uint32_t share_timeout_ms_ = 0;

  std::unique_ptr<PeerWatch> peers_;
  std::vector<bool> departed_;
  std::optional<GroupFailure> failure_;
  bool left_ = false;
  Group::OnFailure callback_on_failure_;
  Group::OnDeparted callback_on_departed_;
};

}  // namespace gyre::transport
