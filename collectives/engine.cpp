#include "collectives/engine.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/announcing.hpp"
#include "kernels/kernels.hpp"

namespace gyre::collectives {

Engine::Engine(transport::Endpoint& endpoint, EngineOptions options)
    : endpoint_(endpoint),
      options_(std::move(options)),
      rank_(endpoint.rank()),
      size_(endpoint.size()),
      pumps_(endpoint.kind() == transport::LinkKind::message),
      executor_(endpoint, options_.last_level_cache_bytes),
      announcements_(static_cast<std::size_t>(endpoint.size())),
      contributions_(static_cast<std::size_t>(endpoint.size())) {}

Status Engine::begin(Operation& operation) {
  operation_ = &operation;
  has_action_ = false;
  cursor_ = 0;
  const Call& call = operation.call;
  small_ = fits_announcement(call, size_) && (options_.tuning.forced.empty() || call.count == 0);
  std::uint16_t hash = 0;
  if (!small_) {
    // The plan for plain buffers decides the hash: it is the one all ranks know before they meet.
    if (Status status = plan(false); !status) return status;
    hash = hash_of(operation.choice, options_.tuning);
  }
  const bool offers = !small_ && operation.buffers.mappable() && endpoint_.maps_memory();
  all_mapped_ = offers;
  header_ = encode(call, offers, hash);
  announcement_.header[0] = header_.words[0];
  announcement_.header[1] = header_.words[1];
  if (small_) {
    const bool sends = call.collective != Collective::broadcast || call.root == rank_;
    contribution_ = sends ? contribution_bytes(call, size_) : 0;
    if (contribution_ > 0)
      std::memcpy(announcement_.payload.data(), operation.buffers.input, contribution_);
  } else {
    encode_refs(operation.buffers, announcement_);
    executor_.begin(operation, header_, options_.trace);
  }
  operation.state = OperationState::announcing;
  return {};
}

std::uint64_t Engine::bytes_sent() const {
  std::uint64_t bytes =
      endpoint_.to_all().bytes_sent() + executor_.bytes_stored() + announced_bytes_;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) bytes += endpoint_.to(peer).bytes_sent();
  return bytes;
}

Status Engine::plan(bool all_mapped) {
  Operation& operation = *operation_;
  Result<Choice> choice = choose(options_.tuning, operation.call, size_, all_mapped);
  if (!choice) return choice.status();
  operation.choice = *choice;
  const transport::SlotShape shape = endpoint_.shape();
  const std::size_t piece_bytes =
      choice->schedule->needs == schedules::Needs::mapped
          ? choice->piece_bytes
          : std::min<std::size_t>(choice->piece_bytes, shape.slot_bytes);
  schedules::Plan& plan = operation.plan;
  plan = {};
  plan.rank = plan.ring_position = rank_;
  plan.size = size_;
  plan.root = operation.call.root;
  plan.count = operation.call.count;
  plan.piece_elements = std::max<std::size_t>(1, piece_bytes / size_of(operation.call.type));
  plan.slots = shape.slots;
  operation.step = 0;
  operation.steps = schedules::step_count(*choice->schedule, plan);
  return {};
}

Progress Engine::progress() {
  if (pumps_) endpoint_.pump();
  switch (operation_->state) {
    case OperationState::announcing: return announce();
    case OperationState::collecting: return collect();
    case OperationState::exchanging: return exchange();
    case OperationState::running: return run();
    case OperationState::draining: return drain();
    case OperationState::queued:
    case OperationState::finished: break;
  }
  return Progress::finished;
}

Progress Engine::wait_for(const Waiting& waiting) {
  operation_->waiting = waiting;
  return endpoint_.aborted() ? Progress::failed : Progress::waiting;
}

Progress Engine::announce() {
  if (size_ > 1 && !endpoint_.announce(operation_->sequence, announcement_))
    return wait_for({"room for another call", -1});
  if (small_) {
    announced_bytes_ += contribution_;
    operation_->state = OperationState::exchanging;
    return exchange();
  }
  if (size_ > 1 && (all_mapped_ || options_.strict)) {
    operation_->state = OperationState::collecting;
    return collect();
  }
  operation_->state = OperationState::running;
  return run();
}

Progress Engine::collect() {
  for (; cursor_ < size_; ++cursor_) {
    if (cursor_ == rank_) continue;
    switch (executor_.check_peer(cursor_)) {
      case Outcome::waiting: return wait_for(executor_.waiting());
      case Outcome::failed: return Progress::failed;
      case Outcome::done: break;
    }
    all_mapped_ = all_mapped_ && executor_.offers_mapped(cursor_);
  }
  if (all_mapped_) {
    if (!plan(true)) return Progress::failed;  // can't be: the plan for plain buffers was made
  }
  operation_->state = OperationState::running;
  return run();
}

// ---- Small operations ---------------------------------------------------------------------------

bool Engine::needs_announcement_of(int peer) const {
  const Call& call = operation_->call;
  if (peer == rank_) return false;
  if (call.collective == Collective::barrier) return true;
  if (call.count == 0) return false;
  return call.collective != Collective::broadcast || peer == call.root;
}

Progress Engine::exchange() {
  for (; cursor_ < size_; ++cursor_) {
    if (!needs_announcement_of(cursor_)) continue;
    transport::Announcement& theirs = announcements_[static_cast<std::size_t>(cursor_)];
    if (!endpoint_.announced(cursor_, operation_->sequence, theirs))
      return wait_for({"its call", cursor_});
    const Header header{{theirs.header[0], theirs.header[1]}};
    if (header_.words[0] != header.words[0] || header_.words[1] != header.words[1]) {
      executor_.report_mismatch(cursor_, operation_->sequence, header, header_);
      return Progress::failed;
    }
  }
  if (operation_->call.count > 0) combine_announcements();
  operation_->state = OperationState::finished;
  return Progress::finished;
}

void Engine::combine_announcements() {
  const Call& call = operation_->call;
  const std::size_t part = contribution_bytes(call, size_);
  std::byte* output = operation_->buffers.output;
  announcements_[static_cast<std::size_t>(rank_)].payload = announcement_.payload;
  switch (call.collective) {
    case Collective::broadcast:
      std::memcpy(output, announcements_[static_cast<std::size_t>(call.root)].payload.data(), part);
      return;
    case Collective::all_gather:
      for (std::size_t rank = 0; rank < announcements_.size(); ++rank)
        std::memcpy(output + rank * part, announcements_[rank].payload.data(), part);
      return;
    case Collective::all_reduce:
    case Collective::reduce_scatter: break;
    case Collective::barrier: return;
  }
  const bool scatter = call.collective == Collective::reduce_scatter;
  const std::size_t skip =
      scatter ? part / static_cast<std::size_t>(size_) * static_cast<std::size_t>(rank_) : 0;
  for (std::size_t rank = 0; rank < announcements_.size(); ++rank)
    contributions_[rank] = announcements_[rank].payload.data() + skip;
  kernels::Pass pass;
  pass.sources = contributions_;
  pass.destinations = {&output, 1};
  pass.count = scatter ? call.count / static_cast<std::size_t>(size_) : call.count;
  pass.finalize = true;
  pass.divisor = static_cast<std::uint32_t>(size_);
  kernels::reduce(call.type, call.op, pass);
}

// ---- Scheduled operations -----------------------------------------------------------------------

Progress Engine::run() {
  Operation& operation = *operation_;
  std::size_t work = 0;
  while (operation.step < operation.steps) {
    if (!has_action_) {
      action_ = schedules::action_at(*operation.choice.schedule, operation.plan, operation.step);
      operation.stage = action_.stage;
      has_action_ = true;
    }
    switch (executor_.execute(action_)) {
      case Outcome::failed: return Progress::failed;
      case Outcome::waiting: return work > 0 ? Progress::working : wait_for(executor_.waiting());
      case Outcome::done: break;
    }
    has_action_ = false;
    ++operation.step;
    work += executor_.work_bytes();
    if (work >= work_bytes_max) return Progress::working;
  }
  operation.state = OperationState::draining;
  return drain();
}

Progress Engine::drain() {
  if (!executor_.drained()) return wait_for(executor_.waiting());
  operation_->state = OperationState::finished;
  return Progress::finished;
}

}  // namespace gyre::collectives
