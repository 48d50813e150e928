#include "transport/bootstrap/group_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "transport/bootstrap/hub.hpp"
#include "transport/bootstrap/spoke.hpp"

namespace gyre::transport {
namespace {

/// Members leave the naming to rank 0, who knows more, and give it this long.
constexpr Nanoseconds share_grace_ns = 1'000 * nanoseconds_per_ms;

std::uint32_t milliseconds_left(Deadline deadline) {
  constexpr Nanoseconds most = std::numeric_limits<std::uint32_t>::max();
  const Nanoseconds left = deadline.left(monotonic_now()) / nanoseconds_per_ms;
  return static_cast<std::uint32_t>(std::min(left + 1, most));
}

}  // namespace

GroupState::GroupState(ControlThread& control, Group::Request request)
    : control_(control),
      request_(std::move(request)),
      departed_(static_cast<std::size_t>(request_.size)) {}

GroupState::~GroupState() { control_.cancel(share_expiry_); }

void GroupState::open_star() {
  if (request_.rank == 0)
    star_ = std::make_unique<Hub>(control_, std::move(request_.listener), request_.size, *this);
  else
    star_ = std::make_unique<Spoke>(control_, request_.id, request_.rank, request_.size, *this);
}

void GroupState::exchange(std::span<const std::byte> record, Deadline deadline, RecordsDone done) {
  if (failure_) return done->set(failure_->status());
  sequence_ = next_sequence_++;
  records_.assign(static_cast<std::size_t>(request_.size), {});
  records_done_ = std::move(done);
  if (!star_) open_star();
  // The star may have reported a failure already.
  if (records_done_) star_->contribute(sequence_, record, milliseconds_left(deadline), deadline);
}

void GroupState::on_record(std::uint32_t sequence, int rank, std::span<const std::byte> record) {
  if (!records_done_ || sequence != sequence_) return;
  records_[static_cast<std::size_t>(rank)].assign(record.begin(), record.end());
}

void GroupState::on_complete(std::uint32_t sequence) {
  if (!records_done_ || sequence != sequence_) return;
  std::exchange(records_done_, nullptr)->set(std::move(records_));
}

Result<AbstractName> GroupState::offer(int memfd, std::size_t bytes) {
  if (failure_) return failure_->status();
  if (terms_)
    return Status(Code::invalid_argument, "a group shares memory once, and it has done so");
  terms_ = ShareTerms{request_.id, request_.rank, request_.size, bytes};
  if (request_.rank != 0) return AbstractName{};
  giver_ = std::make_unique<ShareGiver>(control_, *terms_);
  return giver_->open(memfd);
}

void GroupState::share(const AbstractName& giver, Deadline deadline, SharedDone done) {
  if (failure_) return done->set(failure_->status());
  shared_done_ = std::move(done);
  share_timeout_ms_ = milliseconds_left(deadline);
  const auto on_shared_result = [this](Result<Shared> shared) { on_shared(std::move(shared)); };
  if (giver_) {
    share_expiry_ = control_.at(deadline, [this] { on_share_expired(); });
    giver_->give(on_shared_result);
    return;
  }
  if (!deadline.never())
    share_expiry_ =
        control_.at(Deadline::after(deadline.at(), share_grace_ns), [this] { on_share_expired(); });
  taker_ = std::make_unique<ShareTaker>(control_, *terms_, on_shared_result);
  taker_->take(giver, deadline);
}

void GroupState::on_share_expired() {
  const std::string text =
      giver_ ? fmt::format(
                   "{} of {} did not take the host's shared memory within {} ms: see "
                   "whether they are stopped",
                   giver_->names_of_missing(), request_.size, share_timeout_ms_)
             : fmt::format(
                   "rank 0 did not hand over the host's shared memory within {} ms: see "
                   "whether it is stopped",
                   share_timeout_ms_);
  report(failure_of(Code::timeout, giver_ ? Status::no_rank : 0, text));
}

void GroupState::on_shared(Result<Shared> shared) {
  control_.cancel(share_expiry_);
  if (!shared_done_) return;
  Status status = shared.status();
  if (shared.ok()) status = begin_watch(*shared);
  // Others must not wait for a rank that can't go on.
  if (!status) return report(failure_of(status.code(), request_.rank, status.message()));
  std::exchange(shared_done_, nullptr)->set(std::move(shared->memory));
}

Status GroupState::begin_watch(Shared& shared) {
  auto page = DeparturePage::map(shared.departures.get(), request_.size);
  if (!page) return page.status();
  auto peers = PeerWatch::start(control_, std::move(*page), std::move(shared.processes),
                                [this](int rank, LastNote note) { on_ended(rank, note); });
  if (!peers) return peers.status();
  peers_ = std::move(*peers);
  return {};
}

void GroupState::on_ended(int rank, LastNote note) {
  if (note.in_order || departed_[static_cast<std::size_t>(rank)]) return on_departed(rank);
  if (note.failed != Status::no_rank)
    return report(failure_of(
        Code::peer_failed, note.failed,
        fmt::format("rank {0} has failed: so rank {1} had heard, whose process has ended since; "
                    "see rank {0}'s output",
                    note.failed, rank)));
  report(failure_of(Code::peer_failed, rank,
                    fmt::format("the process of rank {} ended without leaving in order: it was "
                                "killed, crashed or exited; its own output says why",
                                rank)));
}

void GroupState::watch(Group::OnFailure on_failure, Group::OnDeparted on_departed) {
  callback_on_failure_ = std::move(on_failure);
  callback_on_departed_ = std::move(on_departed);
  if (failure_ && callback_on_failure_) callback_on_failure_(*failure_);
  for (std::size_t rank = 0; rank < departed_.size(); ++rank)
    if (departed_[rank] && callback_on_departed_) callback_on_departed_(static_cast<int>(rank));
}

void GroupState::report(GroupFailure failure) {
  if (failure_ || left_) return;
  failure.what.reporter = request_.rank;
  star_->spread(failure);
  on_failure(failure);
}

void GroupState::on_failure(const GroupFailure& failure) {
  if (failure_ || left_) return;
  failure_ = failure;
  const int failed = failure.what.rank;
  // Before anyone here hears of it and may end our process.
  if (peers_ && failed != Status::no_rank && failed != request_.rank)
    peers_->note_failure(request_.rank, failed);
  control_.cancel(share_expiry_);
  if (records_done_) std::exchange(records_done_, nullptr)->set(failure.status());
  if (shared_done_) std::exchange(shared_done_, nullptr)->set(failure.status());
  if (callback_on_failure_) callback_on_failure_(*failure_);
}

void GroupState::on_departed(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (departed_[at] || left_) return;
  departed_[at] = true;
  if (callback_on_departed_) callback_on_departed_(rank);
}

void GroupState::goodbye() {
  if (std::exchange(left_, true)) return;
  // The page first: whoever hears of our end by another way looks there.
  if (peers_) peers_->note_departure(request_.rank);
  star_->say_goodbye();
}

}  // namespace gyre::transport
