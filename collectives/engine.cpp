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
  carrier_ = Carrier::announcement;
  all_mapped_ = false;
  std::uint16_t hash = 0;
  if (!fits_announcement(call, size_) || (!options_.tuning.forced.empty() && call.count > 0)) {
    if (Status status = plan(); !status) return status;
    hash = known_plan_.hash;
    all_mapped_ = known_plan_.mapped && operation.buffers.mappable() && endpoint_.maps_memory();
    carrier_ = !all_mapped_ && known_plan_.one_cast ? Carrier::cast : Carrier::schedule;
  }
  header_ = encode(call, all_mapped_, static_cast<std::uint16_t>(hash ^ history_));
  // A later header disagrees too when ranks differed in a call that none of them had to compare.
  const std::uint64_t said = header_.words[0] * 3 ^ (header_.words[1] & ~Header::mapped_bit);
  history_ = static_cast<std::uint16_t>((said * 0x9e3779b97f4a7c15u) >> 48);
  announcement_.header[0] = header_.words[0];
  announcement_.header[1] = header_.words[1];
  const bool sends = call.collective != Collective::broadcast || call.root == rank_;
  contribution_ = sends ? contribution_bytes(call, size_) : 0;
  payload_bytes_ = 0;
  if (carrier_ == Carrier::schedule) {
    encode_refs(operation.buffers, announcement_);
    payload_bytes_ = refs_bytes;
    executor_.begin(operation, header_, options_.trace);
  } else if (carrier_ == Carrier::announcement && contribution_ > 0) {
    std::memcpy(announcement_.payload.data(), operation.buffers.input, contribution_);
    payload_bytes_ = contribution_;
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

/// Plans the operation for plain buffers, which is what all ranks know before they meet, and what
/// the hash in the header is of. The last plan is kept: training repeats its calls.
Status Engine::plan() {
  Operation& operation = *operation_;
  const Call& call = operation.call;
  if (!known_plan_.valid || !(known_plan_.call == call)) {
    Result<Choice> choice = choose(options_.tuning, call, size_, false);
    if (!choice) return choice.status();
    const Result<Choice> mapped = choose(options_.tuning, call, size_, true);
    known_plan_ = {};
    known_plan_.valid = true;
    known_plan_.call = call;
    known_plan_.choice = *choice;
    known_plan_.hash = hash_of(*choice, options_.tuning);
    known_plan_.mapped = mapped.ok() && mapped->schedule->needs == schedules::Needs::mapped;
    // A one-shot schedule of one piece has two actions: cast the contribution, combine all casts.
    // exchange() does the same two with fewer words.
    known_plan_.one_cast =
        choice->schedule->algorithm == "one_shot" && options_.tuning.forced.empty() &&
        !options_.strict && !pumps_ &&
        contribution_bytes(call, size_) <=
            std::min<std::size_t>(choice->piece_bytes, endpoint_.shape().slot_bytes);
    take(*choice);
    known_plan_.plan = operation.plan;
    known_plan_.steps = operation.steps;
  }
  operation.choice = known_plan_.choice;
  operation.plan = known_plan_.plan;
  operation.step = 0;
  operation.steps = known_plan_.steps;
  return {};
}

void Engine::take(const Choice& choice) {
  Operation& operation = *operation_;
  const std::size_t piece_bytes =
      choice.schedule->needs == schedules::Needs::mapped
          ? choice.piece_bytes
          : std::min<std::size_t>(choice.piece_bytes, endpoint_.shape().slot_bytes);
  operation.choice = choice;
  schedules::Plan& plan = operation.plan;
  plan = {};
  plan.rank = plan.ring_position = rank_;
  plan.size = size_;
  plan.root = operation.call.root;
  plan.count = operation.call.count;
  plan.piece_elements = std::max<std::size_t>(1, piece_bytes / size_of(operation.call.type));
  plan.slots = endpoint_.shape().slots;
  operation.step = 0;
  operation.steps = schedules::step_count(*choice.schedule, plan);
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
  if (carrier_ == Carrier::cast && contribution_ > 0 && !cast()) {
    return wait_for({"room in its slots", -1});
  }
  if (size_ > 1 && !endpoint_.announce(operation_->sequence, announcement_, payload_bytes_))
    return wait_for({"room for another call", -1});
  if (carrier_ != Carrier::schedule) {
    if (carrier_ == Carrier::announcement) announced_bytes_ += contribution_;
    operation_->state = OperationState::exchanging;
    if (operation_->call.collective == Collective::all_gather) gather_own();
    return exchange();
  }
  if (size_ > 1 && (all_mapped_ || options_.strict)) {
    operation_->state = OperationState::collecting;
    return collect();
  }
  operation_->state = OperationState::running;
  return run();
}

/// Casts the contribution, before the announcement: who sees that finds both.
bool Engine::cast() {
  if (size_ == 1 || cast_for_ == operation_->sequence) return true;
  transport::SendLink& link = endpoint_.to_all();
  const auto places = link.reserve(contribution_);
  if (places.empty()) return false;
  kernels::copy(places, operation_->buffers.input, contribution_, kernels::Store::regular);
  link.publish_announced(contribution_);
  cast_for_ = operation_->sequence;
  if (options_.trace) options_.trace->sent({operation_->sequence, 0, -1, contribution_});
  return true;
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
  if (all_mapped_) take(*choose(options_.tuning, operation_->call, size_, true));
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
  const std::size_t bytes = contribution_bytes(operation_->call, size_);
  const std::size_t payload_bytes = carrier_ == Carrier::announcement ? bytes : 0;
  for (; cursor_ < size_; ++cursor_) {
    if (!needs_announcement_of(cursor_)) continue;
    const auto peer = static_cast<std::size_t>(cursor_);
    transport::Announcement& theirs = announcements_[peer];
    if (!endpoint_.announced(cursor_, operation_->sequence, theirs, payload_bytes))
      return wait_for({"its call", cursor_});
    const Header header{{theirs.header[0], theirs.header[1]}};
    if (!header_.agrees_with(header)) {
      executor_.report_mismatch(cursor_, operation_->sequence, header, header_);
      return Progress::failed;
    }
    contributions_[peer] = theirs.payload.data();
    if (carrier_ == Carrier::announcement) continue;
    contributions_[peer] = endpoint_.cast_from(cursor_).peek_announced(bytes);
    if (!contributions_[peer]) return wait_for({"its data", cursor_});
  }
  if (operation_->call.count > 0) combine_contributions(bytes);
  if (carrier_ == Carrier::cast) {
    for (int peer = 0; peer < size_; ++peer)
      if (needs_announcement_of(peer)) endpoint_.cast_from(peer).release();
  }
  operation_->state = OperationState::finished;
  return Progress::finished;
}

/// While the peers' chunks are on their way.
void Engine::gather_own() {
  std::byte* place = operation_->buffers.output + static_cast<std::size_t>(rank_) * contribution_;
  kernels::copy({&place, 1}, operation_->buffers.input, contribution_, kernels::Store::regular);
}

void Engine::combine_contributions(std::size_t bytes) {
  const Call& call = operation_->call;
  std::byte* output = operation_->buffers.output;
  const auto self = static_cast<std::size_t>(rank_);
  // Our own announcement has a copy of the input, which an operation in place may overwrite.
  contributions_[self] =
      carrier_ == Carrier::cast ? operation_->buffers.input : announcement_.payload.data();
  const auto copy = [bytes](std::byte* to, const std::byte* from) {
    kernels::copy({&to, 1}, from, bytes, kernels::Store::regular);
  };
  switch (call.collective) {
    case Collective::broadcast:
      return copy(output, contributions_[static_cast<std::size_t>(call.root)]);
    case Collective::all_gather:
      for (std::size_t rank = 0; rank < contributions_.size(); ++rank)
        if (rank != self) copy(output + rank * bytes, contributions_[rank]);
      return;
    case Collective::all_reduce:
    case Collective::reduce_scatter: break;
    case Collective::barrier: return;
  }
  const bool scatter = call.collective == Collective::reduce_scatter;
  if (scatter) {
    const std::size_t skip = bytes / static_cast<std::size_t>(size_) * self;
    for (const std::byte*& contribution : contributions_) contribution += skip;
  }
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
