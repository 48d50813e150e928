#include "transport/shm/endpoint.hpp"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

namespace gyre::transport::shm {
namespace {

/// Words of an announcement, its header's included, that hold so many bytes of payload.
constexpr std::size_t words_of(std::size_t payload_bytes) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  return (offsetof(Announcement, payload) + payload_bytes + word - 1) / word;
}

}  // namespace

Result<std::unique_ptr<ShmEndpoint>> ShmEndpoint::create(std::shared_ptr<Segment> segment, int rank,
                                                         MemoryImporter* importer) {
  if (!segment) return Status(Code::invalid_argument, "an endpoint without a segment");
  if (rank < 0 || rank >= segment->layout().ranks)
    return Status(Code::invalid_argument, fmt::format("rank {} in a segment made for {} ranks",
                                                      rank, segment->layout().ranks));
  return std::unique_ptr<ShmEndpoint>(new ShmEndpoint(std::move(segment), rank, importer));
}

ShmEndpoint::ShmEndpoint(std::shared_ptr<Segment> segment, int rank, MemoryImporter* importer)
    : segment_(std::move(segment)),
      rank_(rank),
      size_(segment_->layout().ranks),
      importer_(importer),
      doorbells_(segment_->sleepers(), segment_->bells(), rank, segment_->fence_mode()),
      announcements_(segment_->rings(), rank),
      record_(segment_->failure(), segment_->details(), rank),
      notes_(segment_->notes()),
      left_(static_cast<std::size_t>(size_), 0),
      cast_send_(
          SlotSender<HostMemory>(segment_->cast_published(rank), segment_->all_cast_consumed(rank),
                                 rank, segment_->layout().cast.slots),
          segment_->cast_slots(rank), segment_->layout().cast.slot_bytes, ShmSendLink::everyone,
          doorbells_, *this) {
  const SegmentLayout& layout = segment_->layout();
  Breach& breach = *this;
  const auto n = static_cast<std::size_t>(size_);
  send_.reserve(n);
  recv_.reserve(n);
  cast_recv_.reserve(n);
  for (int peer = 0; peer < size_; ++peer) {
    const std::span<const Counter<HostMemory>> consumed(&segment_->consumed(rank, peer), 1);
    send_.emplace_back(
        SlotSender<HostMemory>(segment_->published(peer, rank), consumed, -1, layout.pair.slots),
        segment_->pair_slots(peer, rank), layout.pair.slot_bytes, peer, doorbells_, breach);
    recv_.emplace_back(SlotReceiver<HostMemory>(segment_->published(rank, peer),
                                                segment_->consumed(peer, rank), layout.pair.slots),
                       segment_->pair_slots(rank, peer), layout.pair.slot_bytes, peer, doorbells_,
                       breach);
    cast_recv_.emplace_back(
        SlotReceiver<HostMemory>(segment_->cast_published(peer),
                                 segment_->cast_consumed(peer, rank), layout.cast.slots),
        segment_->cast_slots(peer), layout.cast.slot_bytes, peer, doorbells_, breach);
  }
}

bool ShmEndpoint::announce(std::uint64_t sequence, const Announcement& announcement,
                           std::size_t payload_bytes) {
  std::uint64_t words[announcement_words];
  const std::span value(words, words_of(payload_bytes));
  std::memcpy(value.data(), &announcement, value.size_bytes());
  const Look look = announcements_.announce(sequence, value);
  if (look == Look::corrupt) [[unlikely]]
    corrupt(announcements_.culprit());
  if (look != Look::ready) return false;
  doorbells_.kick_all();
  return true;
}

bool ShmEndpoint::announced(int peer, std::uint64_t sequence, Announcement& announcement,
                            std::size_t payload_bytes) {
  std::uint64_t words[announcement_words];
  const std::span value(words, words_of(payload_bytes));
  const Look look = announcements_.read(peer, sequence, value);
  if (look == Look::corrupt) [[unlikely]]
    corrupt(peer);
  if (look != Look::ready) return false;
  std::memcpy(static_cast<void*>(&announcement), value.data(), value.size_bytes());
  return true;
}

void ShmEndpoint::leave(std::uint64_t sequence) {
  segment_->left(rank_).set(sequence);
  doorbells_.kick_all();
}

bool ShmEndpoint::has_left(int peer, std::uint64_t sequence) {
  std::uint64_t& known = left_[static_cast<std::size_t>(peer)];
  if (known < sequence) known = segment_->left(peer).get();
  return known >= sequence;
}

Mapping ShmEndpoint::map(int peer, const MappedRef& ref, std::size_t bytes) {
  if (importer_ == nullptr || ref.segment == 0) return {};
  return importer_->map(peer, ref, bytes);
}

void ShmEndpoint::abort(const Failure& failure) {
  {
    const std::scoped_lock lock(abort_mutex_);
    record_.set(failure);
  }
  // Also when another rank was first: it may have been killed before it could ring.
  for (int peer = 0; peer < size_; ++peer) doorbells_.ring(peer);
}

void ShmEndpoint::depart() {
  segment_->departed(rank_).set(1);
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) doorbells_.ring(peer);
}

void ShmEndpoint::corrupt(int peer) {
  Failure failure;
  failure.code = Code::internal;
  failure.rank = peer;
  abort(failure);
}

}  // namespace gyre::transport::shm
