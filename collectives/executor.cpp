#include "collectives/executor.hpp"

#include <algorithm>
#include <functional>

#include "collectives/announcing.hpp"

namespace gyre::collectives {

using schedules::Action;
using schedules::Event;
using schedules::Operand;
using schedules::Place;
using schedules::Verb;

namespace {

bool is_link(Place place) { return place == Place::slot || place == Place::cast; }

}  // namespace

Executor::Executor(transport::Endpoint& endpoint, std::size_t last_level_cache_bytes)
    : endpoint_(endpoint),
      last_level_cache_bytes_(last_level_cache_bytes),
      posts_(endpoint.kind() == transport::LinkKind::message),
      rank_(endpoint.rank()),
      size_(endpoint.size()),
      peers_(static_cast<std::size_t>(endpoint.size())) {
  const auto ranks = static_cast<std::size_t>(size_);
  sources_.reserve(ranks + 1);
  user_destinations_.reserve(ranks + 1);
  link_destinations_.reserve(2 * ranks);
}

void Executor::begin(Operation& operation, const Header& header, Trace* trace) {
  operation_ = &operation;
  header_ = header;
  trace_ = trace;
  event_passed_ = computed_ = false;
  cursor_ = 0;
  const std::size_t footprint =
      2 * operation.call.count * element_bytes() * static_cast<std::size_t>(size_);
  // In place the output's lines are in the cache: they have just been read as input.
  const bool in_place = operation.buffers.input == operation.buffers.output;
  output_store_ = in_place ? kernels::Store::regular
                           : kernels::choose_store(footprint, last_level_cache_bytes_);
}

/// Whoever waits compares calls with the one it waits for: a rank that calls something else may
/// never send what is waited for. -1 stands for all peers.
Outcome Executor::wait_for(const char* what, int peer) {
  waiting_ = {what, peer};
  const int begin = peer < 0 ? 0 : peer;
  const int end = peer < 0 ? size_ : peer + 1;
  for (int other = begin; other < end; ++other)
    if (other != rank_ && learn_call(other) == Outcome::failed) return Outcome::failed;
  return Outcome::waiting;
}

Outcome Executor::execute(const Action& action) {
  if (!event_passed_) {
    if (const Outcome outcome = wait_event(action.wait); outcome != Outcome::done) return outcome;
    event_passed_ = true;
    cursor_ = 0;
  }
  work_bytes_ = 0;
  if (action.verb != Verb::none && action.count > 0) {
    if (!computed_) {
      if (const Outcome outcome = find_sources(action); outcome != Outcome::done) return outcome;
      if (const Outcome outcome = find_destinations(action); outcome != Outcome::done)
        return outcome;
      compute(action);
      computed_ = true;
      cursor_ = 0;
    }
    if (const Outcome outcome = send(action); outcome != Outcome::done) return outcome;
    release_sources(action);
  }
  if (action.signal == Event::left) endpoint_.leave(operation_->sequence);
  event_passed_ = computed_ = false;
  cursor_ = 0;
  return Outcome::done;
}

Outcome Executor::wait_event(Event event) {
  if (event == Event::none) return Outcome::done;
  for (; cursor_ < size_; ++cursor_) {
    if (cursor_ == rank_) continue;
    if (event == Event::entered) {
      if (const Outcome outcome = check_peer(cursor_); outcome != Outcome::done) return outcome;
    } else if (!endpoint_.has_left(cursor_, operation_->sequence)) {
      return wait_for("the end of its reads and writes", cursor_);
    }
  }
  return Outcome::done;
}

Outcome Executor::check_peer(int peer) {
  const Outcome outcome = learn_call(peer);
  if (outcome == Outcome::waiting) waiting_ = {"its call", peer};
  return outcome;
}

Outcome Executor::learn_call(int peer) {
  Peer& known = peers_[static_cast<std::size_t>(peer)];
  if (known.checked == operation_->sequence) return Outcome::done;
  transport::Announcement announcement;
  if (!endpoint_.announced(peer, operation_->sequence, announcement, refs_bytes))
    return Outcome::waiting;
  const Header theirs{{announcement.header[0], announcement.header[1]}};
  if (!header_.agrees_with(theirs)) {
    report_mismatch(peer, operation_->sequence, theirs, header_);
    return Outcome::failed;
  }
  known.checked = operation_->sequence;
  known.offers = theirs.offers_mapped();
  decode_refs(announcement, known.input_ref, known.output_ref);
  return Outcome::done;
}

void Executor::report_mismatch(int peer, std::uint64_t sequence, const Header& theirs,
                               const Header& ours) {
  transport::Failure failure;
  failure.code = Code::mismatch;
  failure.rank = peer;
  failure.reporter = rank_;
  failure.sequence = sequence;
  std::copy(std::begin(theirs.words), std::end(theirs.words), failure.header[0]);
  std::copy(std::begin(ours.words), std::end(ours.words), failure.header[1]);
  endpoint_.abort(failure);
}

// ---- Sources ------------------------------------------------------------------------------------

std::byte* Executor::local(const Operand& operand) {
  const std::size_t offset = operand.offset * element_bytes();
  switch (operand.place) {
    case Place::input:
      return const_cast<std::byte*>(operation_->buffers.input) + offset;  // only ever read
    case Place::output: return operation_->buffers.output + offset;
    case Place::scratch: return scratch_.data();
    default: return nullptr;
  }
}

Outcome Executor::find_slot(int peer, bool cast, std::size_t bytes) {
  auto& link = cast ? endpoint_.cast_from(peer) : endpoint_.from(peer);
  const std::byte* data = link.peek(bytes);
  if (!data) return wait_for("its data", peer);
  // The peer announced before it sent, so its announcement is there; compare before use.
  if (const Outcome outcome = check_peer(peer); outcome != Outcome::done) return outcome;
  sources_.push_back(data);
  return Outcome::done;
}

Outcome Executor::find_source(const Operand& operand, std::size_t bytes) {
  switch (operand.place) {
    case Place::slot:
    case Place::cast: return find_slot(operand.peer, operand.place == Place::cast, bytes);
    case Place::mapped_input: {
      if (operand.peer == rank_) {
        sources_.push_back(local({Place::input, -1, operand.offset}));
        return Outcome::done;
      }
      if (const Outcome outcome = map_peer(operand.peer); outcome != Outcome::done) return outcome;
      const Peer& peer = peers_[static_cast<std::size_t>(operand.peer)];
      sources_.push_back(peer.input + operand.offset * element_bytes());
      return Outcome::done;
    }
    case Place::every_slot:
    case Place::every_cast:
    case Place::every_input: return find_every(operand, bytes);
    default: sources_.push_back(local(operand)); return Outcome::done;
  }
}

Outcome Executor::find_every(const Operand& operand, std::size_t bytes) {
  // Ranks before the cursor are known to be ready, and stay so; the first that is not ends the
  // look.
  for (; cursor_ < size_; ++cursor_) {
    if (cursor_ == rank_) continue;
    const Outcome outcome = operand.place == Place::every_input
                                ? map_peer(cursor_)
                                : find_slot(cursor_, operand.place == Place::every_cast, bytes);
    if (outcome != Outcome::done) return outcome;
  }
  sources_.clear();
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) {
      sources_.push_back(local({Place::input, -1, operand.offset}));
    } else if (operand.place == Place::every_input) {
      sources_.push_back(peers_[static_cast<std::size_t>(rank)].input +
                         operand.offset * element_bytes());
    } else {
      auto& link =
          operand.place == Place::every_cast ? endpoint_.cast_from(rank) : endpoint_.from(rank);
      sources_.push_back(link.peek(bytes));
    }
  }
  return Outcome::done;
}

Outcome Executor::find_sources(const Action& action) {
  sources_.clear();
  const std::size_t bytes = action.count * element_bytes();
  if (posts_) place_receive(action);
  const int sources = action.verb == Verb::combine && !is_every(action.source[0].place) ? 2 : 1;
  for (int i = 0; i < sources; ++i) {
    if (const Outcome outcome = find_source(action.source[i], bytes); outcome != Outcome::done)
      return outcome;
  }
  return Outcome::done;
}

void Executor::place_receive(const Action& action) {
  if (action.verb != Verb::copy || !is_link(action.source[0].place)) return;
  const std::size_t bytes = action.count * element_bytes();
  for (const Operand& destination : action.destination) {
    if (destination.place != Place::output) continue;
    std::byte* into = local(destination);
    if (still_read(into, bytes)) return;
    auto& link = action.source[0].place == Place::cast ? endpoint_.cast_from(action.source[0].peer)
                                                       : endpoint_.from(action.source[0].peer);
    link.place(into, bytes);
  }
}

Outcome Executor::map_peer(int peer) {
  if (const Outcome outcome = check_peer(peer); outcome != Outcome::done) return outcome;
  Peer& known = peers_[static_cast<std::size_t>(peer)];
  if (known.mapped == operation_->sequence) return Outcome::done;
  const Extent extent = extent_of(operation_->call, size_);
  const auto one = [&](const transport::MappedRef& ref, std::size_t bytes, std::byte*& data) {
    const transport::Mapping mapping = endpoint_.map(peer, ref, bytes);
    if (mapping.state == transport::Mapping::State::pending)
      return wait_for("a mapping of its memory", peer);
    if (mapping.state == transport::Mapping::State::refused) {
      transport::Failure failure;
      failure.code = Code::out_of_resources;
      failure.rank = peer;
      failure.reporter = rank_;
      failure.sequence = operation_->sequence;
      endpoint_.abort(failure);
      return Outcome::failed;
    }
    data = mapping.data;
    return Outcome::done;
  };
  if (const auto outcome = one(known.input_ref, extent.input_bytes, known.input);
      outcome != Outcome::done)
    return outcome;
  if (const auto outcome = one(known.output_ref, extent.output_bytes, known.output);
      outcome != Outcome::done)
    return outcome;
  known.mapped = operation_->sequence;
  return Outcome::done;
}

// ---- Destinations -------------------------------------------------------------------------------

transport::SendLink& Executor::link_to(const Operand& destination) {
  return destination.place == Place::cast ? endpoint_.to_all() : endpoint_.to(destination.peer);
}

/// On message links: where the message stands in user memory (or will, once computed), so that it
/// can be posted from there; nullptr if it must be built in a staging buffer.
const std::byte* Executor::resident(const Action& action) const {
  if (!posts_) return nullptr;
  auto* self = const_cast<Executor*>(this);
  if (action.verb == Verb::copy &&
      (action.source[0].place == Place::input || action.source[0].place == Place::output)) {
    return self->local(action.source[0]);
  }
  for (const Operand& destination : action.destination)
    if (destination.place == Place::output) return self->local(destination);
  return nullptr;
}

Outcome Executor::find_send_places(const Operand& operand, std::size_t bytes) {
  const auto places = link_to(operand).reserve(bytes);
  if (places.empty()) return wait_for("room in its slots", operand.peer);
  link_destinations_.insert(link_destinations_.end(), places.begin(), places.end());
  return Outcome::done;
}

Outcome Executor::find_destinations(const Action& action) {
  user_destinations_.clear();
  link_destinations_.clear();
  const std::size_t bytes = action.count * element_bytes();
  for (const Operand& destination : action.destination) {
    switch (destination.place) {
      case Place::none: break;
      case Place::slot:
      case Place::cast:
        if (resident(action)) break;
        if (const auto outcome = find_send_places(destination, bytes); outcome != Outcome::done)
          return outcome;
        break;
      case Place::every_output:
        for (int rank = 0; rank < size_; ++rank) {
          if (rank == rank_) {
            user_destinations_.push_back(local({Place::output, -1, destination.offset}));
            continue;
          }
          if (const auto outcome = map_peer(rank); outcome != Outcome::done) return outcome;
          user_destinations_.push_back(peers_[static_cast<std::size_t>(rank)].output +
                                       destination.offset * element_bytes());
        }
        break;
      default:
        if (destination.place == Place::scratch && scratch_.size() < bytes) scratch_.resize(bytes);
        user_destinations_.push_back(local(destination));
        if (still_read(user_destinations_.back(), bytes))
          return wait_for("the network to have read the buffer", -1);
    }
  }
  return Outcome::done;
}

// ---- Doing it -----------------------------------------------------------------------------------

void Executor::compute(const Action& action) {
  const std::size_t bytes = action.count * element_bytes();
  // Slots are read again soon, by another core: they stay in the caches whatever the output does.
  const bool apart = output_store_ == kernels::Store::streamed && !link_destinations_.empty();
  const auto store = apart ? kernels::Store::regular : output_store_;
  auto& destinations = link_destinations_;
  if (!apart)
    destinations.insert(destinations.end(), user_destinations_.begin(), user_destinations_.end());
  if (action.verb == Verb::copy && !action.finalize) {
    kernels::copy(destinations, sources_[0], bytes, store);
  } else {
    kernels::Pass pass;
    pass.sources = sources_;
    pass.destinations = destinations;
    pass.count = action.count;
    pass.store = store;
    pass.finalize = action.finalize;
    pass.divisor = static_cast<std::uint32_t>(size_);
    kernels::reduce(operation_->call.type, operation_->call.op, pass);
  }
  if (apart && !user_destinations_.empty())
    kernels::copy(user_destinations_, destinations[0], bytes, kernels::Store::streamed);
  work_bytes_ = bytes * (sources_.size() + destinations.size());
  for (const Operand& destination : action.destination) {
    if (destination.place == Place::every_output)
      bytes_stored_ += bytes * static_cast<std::size_t>(size_ - 1);
  }
}

Outcome Executor::send(const Action& action) {
  const std::size_t bytes = action.count * element_bytes();
  const std::byte* data = resident(action);
  for (; cursor_ < 2; ++cursor_) {  // the destinations that are sent already are not sent again
    const Operand& destination = action.destination[cursor_];
    if (!is_link(destination.place)) continue;
    auto& link = link_to(destination);
    if (!data) {
      link.publish(bytes);
    } else {
      if (!link.post(data, bytes)) return wait_for("room in its slots", destination.peer);
      posted_.push_back({&link, link.posted(), data, data + bytes});
    }
    if (trace_) {
      const int peer = destination.place == Place::cast ? -1 : destination.peer;
      trace_->sent({operation_->sequence, action.stage, peer, bytes});
    }
  }
  return Outcome::done;
}

void Executor::release_sources(const Action& action) {
  for (const Operand& source : action.source) {
    if (source.place == Place::slot) endpoint_.from(source.peer).release();
    if (source.place == Place::cast) endpoint_.cast_from(source.peer).release();
    if (source.place != Place::every_slot && source.place != Place::every_cast) continue;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      if (source.place == Place::every_slot) endpoint_.from(rank).release();
      if (source.place == Place::every_cast) endpoint_.cast_from(rank).release();
    }
  }
}

bool Executor::still_read(const std::byte* begin, std::size_t bytes) {
  if (posted_.empty()) return false;
  std::erase_if(posted_, [](const Posted& p) { return p.link->released() >= p.number; });
  const std::byte* end = begin + bytes;
  return std::any_of(posted_.begin(), posted_.end(), [&](const Posted& p) {
    return std::less<>{}(p.begin, end) && std::less<>{}(begin, p.end);
  });
}

bool Executor::drained() {
  std::erase_if(posted_, [](const Posted& p) { return p.link->released() >= p.number; });
  if (posted_.empty()) return true;
  waiting_ = {"the network to have read the buffer", -1};
  return false;
}

}  // namespace gyre::collectives
