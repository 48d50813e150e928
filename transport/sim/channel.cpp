#include "transport/sim/channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gyre::transport {

SimChannel::SimChannel(SimCore& core, int id, int from, std::vector<int> readers, int places)
    : core_(core),
      id_(id),
      from_(from),
      factor_(static_cast<int>(core.random().between(1, core.profile().link_factor_max))),
      readers_(readers.size()),
      place_count_(static_cast<std::size_t>(places)) {
  for (std::size_t i = 0; i < readers.size(); ++i) readers_[i].rank = readers[i];
}

// Most links of a run are never used, so their memory is made when it is first needed.
std::byte* SimChannel::slot(Reader& reader, std::uint64_t index) {
  const SlotShape& shape = core_.options().shape;
  const auto slots = static_cast<std::size_t>(shape.slots);
  if (reader.slots.empty()) reader.slots.assign(slots * shape.slot_bytes, poison);
  return reader.slots.data() + static_cast<std::size_t>(index % slots) * shape.slot_bytes;
}

bool SimChannel::has_credit() {
  const auto slots = static_cast<std::uint64_t>(core_.options().shape.slots);
  for (const auto& reader : readers_)
    if (posted_ - reader.credit_seen >= slots) return false;
  return true;
}

std::span<std::byte* const> SimChannel::reserve(std::size_t bytes) {
  if (!has_credit()) {
    ++core_.coverage().credit_waits;
    return {};
  }
  const SlotShape& shape = core_.options().shape;
  if (bytes > shape.slot_bytes) {
    core_.violation(fmt::format(
        "rank {} reserved {} bytes on link {}, which is more than a slot holds", from_, bytes,
        id_));
    return {};
  }
  const auto slots = static_cast<std::size_t>(shape.slots);
  if (staging_.empty()) staging_.assign(place_count_ * slots * shape.slot_bytes, poison);
  const std::size_t index = static_cast<std::size_t>(posted_ % slots);
  places_.clear();
  for (std::size_t place = 0; place < place_count_; ++place)
    places_.push_back(staging_.data() + (place * slots + index) * shape.slot_bytes);
  reserved_ = bytes;
  return places_;
}

void SimChannel::publish(std::size_t bytes) {
  if (reserved_ != bytes) {
    core_.violation(fmt::format("rank {} published {} bytes on link {} {}", from_, bytes, id_,
                                reserved_ ? "in a place reserved for another number of them"
                                          : "without having reserved a place"));
    return;
  }
  for (const std::byte* place : places_)
    if (std::memcmp(place, places_[0], bytes) != 0)
      core_.violation(
          fmt::format("rank {} gave the places of link {} different bytes", from_, id_));
  reserved_.reset();
  const std::size_t copies = core_.carries_messages() ? readers_.size() : place_count_;
  bytes_sent_ += bytes * copies;
  hand_over({places_[0], bytes, 0, 0, false}, SimAct::publish);
}

bool SimChannel::post(const std::byte* data, std::size_t bytes) {
  if (!core_.carries_messages() || bytes > core_.options().shape.slot_bytes) {
    core_.violation(fmt::format("rank {} posted {} bytes on link {}, which does not take that",
                                from_, bytes, id_));
    return false;
  }
  if (!has_credit()) {
    ++core_.coverage().credit_waits;
    return false;
  }
  reserved_.reset();
  bytes_sent_ += bytes * readers_.size();
  ++core_.coverage().posted_from_user;
  hand_over({data, bytes, sim_hash(data, bytes), 0, true}, SimAct::post);
  return true;
}

void SimChannel::hand_over(const Message& message, SimAct what) {
  const std::uint64_t hash =
      message.from_user ? message.hash : sim_hash(message.source, message.bytes);
  const std::uint64_t index = posted_++;
  if (!core_.act(from_, what, static_cast<std::uint64_t>(id_), hash)) {
    for (auto& reader : readers_) reader.cut_at = std::min(reader.cut_at, index);
    return;
  }
  messages_.push_back(message);
  messages_.back().hash = hash;
  messages_.back().serial = ++core_.rank(from_).handed_over;
  ++core_.coverage().messages;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    Reader& reader = readers_[i];
    const Nanoseconds delay = core_.profile().message.draw(core_.random()) * factor_;
    reader.message_at = core_.arrival(from_, delay, reader.message_at);
    core_.queue().push({reader.message_at, SimEvent::Kind::message, reader.rank, from_, id_,
                        static_cast<int>(i), posted_});
  }
  const Nanoseconds delay = core_.profile().source.draw(core_.random()) * factor_;
  source_at_ = core_.arrival(from_, delay, source_at_);
  core_.queue().push({source_at_, SimEvent::Kind::source, from_, -1, id_, -1, posted_});
}

std::uint64_t SimChannel::released() const {
  return core_.carries_messages() ? source_seen_ : posted_;
}

void SimChannel::check_source(const Message& message, std::uint64_t index) {
  if (!message.from_user || sim_hash(message.source, message.bytes) == message.hash) return;
  core_.violation(
      fmt::format("rank {} changed the memory of message {} on link {} before it was released",
                  from_, index, id_));
}

void SimChannel::copy(Reader& reader, std::uint64_t index) {
  const Message& message = message_at(index);
  check_source(message, index);
  std::byte* const to = slot(reader, index);
  if (message.bytes > 0) std::memcpy(to, message.source, message.bytes);
  for (const auto& flip : core_.profile().flips) {
    if (flip.from != from_ || flip.to != reader.rank || flip.message != index) continue;
    if (flip.bit / 8 >= message.bytes) continue;
    to[flip.bit / 8] ^= std::byte{1} << (flip.bit % 8);
    ++core_.coverage().flips;
  }
  reader.copied = index + 1;
  const bool last = std::all_of(readers_.begin(), readers_.end(),
                                [&](const Reader& r) { return r.copied > index; });
  if (!last || message.from_user) return;
  const SlotShape& shape = core_.options().shape;
  const std::size_t slots = static_cast<std::size_t>(shape.slots);
  for (std::size_t place = 0; place < place_count_; ++place) {
    const std::size_t at = place * slots + static_cast<std::size_t>(index % slots);
    std::memset(staging_.data() + at * shape.slot_bytes, std::to_integer<int>(poison),
                message.bytes);
  }
}

void SimChannel::on_message(int number, std::uint64_t value) {
  Reader& reader = reader_at(number);
  const std::uint64_t before = reader.arrived;
  for (; reader.arrived < std::min(value, reader.cut_at); ++reader.arrived) {
    const std::uint64_t index = reader.arrived;
    if (reader.copied <= index) copy(reader, index);
    const Message& message = message_at(index);
    SimRank& sender = core_.rank(from_);
    if (message.serial < sender.newest_seen) ++core_.coverage().overtaken;
    sender.newest_seen = std::max(sender.newest_seen, message.serial);
    if (reader.into && index == reader.consumed && reader.into_bytes == message.bytes) {
      if (message.bytes > 0) std::memcpy(reader.into, slot(reader, index), message.bytes);
      reader.in_place = true;
      ++core_.coverage().in_place;
    }
  }
  if (reader.arrived == before) return;
  if (!core_.carries_messages()) reader.seen = reader.arrived;
  core_.wake(reader.rank);
}

void SimChannel::on_credit(int number, std::uint64_t value) {
  Reader& reader = reader_at(number);
  if (value <= reader.credit_arrived) return;
  reader.credit_arrived = value;
  if (!core_.carries_messages()) reader.credit_seen = value;
  core_.wake(from_);
}

void SimChannel::on_source(std::uint64_t value) {
  for (; source_done_ < value; ++source_done_) {
    const std::uint64_t index = source_done_;
    if (sources_forgotten_) continue;
    bool delivered = true;
    for (auto& reader : readers_) {
      delivered = delivered && reader.arrived > index;
      if (reader.copied <= index && reader.cut_at > index) copy(reader, index);
    }
    const Message& message = message_at(index);
    check_source(message, index);
    if (message.from_user)
      ++(delivered ? core_.coverage().late_sources : core_.coverage().early_sources);
  }
  drop_finished();
  if (core_.carries_messages()) core_.wake(from_);
}

/// Forgets messages that every reader has given back and whose source is no longer read.
void SimChannel::drop_finished() {
  std::uint64_t done = source_done_;
  for (const auto& reader : readers_) done = std::min(done, reader.consumed);
  for (; first_ < done && !messages_.empty(); ++first_) messages_.pop_front();
}

const std::byte* SimChannel::peek(int number, std::size_t bytes) {
  Reader& reader = reader_at(number);
  const std::uint64_t index = reader.consumed;
  if (reader.seen <= index) return nullptr;
  reader.expected_bytes = bytes;
  return reader.in_place ? reader.into : slot(reader, index);
}

void SimChannel::place(int number, std::byte* into, std::size_t bytes) {
  Reader& reader = reader_at(number);
  if (!core_.carries_messages() || reader.arrived > reader.consumed) return;
  if (bytes > core_.options().shape.slot_bytes)
    core_.violation(
        fmt::format("rank {} wants {} bytes of link {} in place, more than a slot holds",
                    reader.rank, bytes, id_));
  if (reader.wished) {
    if (reader.into && reader.into != into)
      core_.violation(fmt::format("rank {} wants message {} on link {} in two places", reader.rank,
                                  reader.consumed, id_));
    return;
  }
  if (!core_.act(reader.rank, SimAct::place, static_cast<std::uint64_t>(id_))) return;
  reader.wished = true;
  if (!core_.chance(core_.profile().in_place_percent)) {
    ++core_.coverage().in_place_declined;
    return;
  }
  reader.into = into;
  reader.into_bytes = bytes;
}

void SimChannel::release(int number) {
  Reader& reader = reader_at(number);
  if (reader.seen <= reader.consumed) {
    core_.violation(fmt::format("rank {} gave back a message of link {} that it has not got",
                                reader.rank, id_));
    return;
  }
  const std::size_t bytes = message_at(reader.consumed).bytes;
  if (reader.expected_bytes != not_looked && reader.expected_bytes != bytes)
    core_.violation(fmt::format("rank {} took message {} on link {} for {} bytes, but it has {}",
                                reader.rank, reader.consumed, id_, reader.expected_bytes, bytes));
  std::memset(slot(reader, reader.consumed), std::to_integer<int>(poison), bytes);
  ++reader.consumed;
  reader.into = nullptr;
  reader.wished = reader.in_place = false;
  reader.expected_bytes = not_looked;
  if (!core_.act(reader.rank, SimAct::release, static_cast<std::uint64_t>(id_))) return;
  const Nanoseconds delay = core_.profile().credit.draw(core_.random()) * factor_;
  reader.credit_at = core_.arrival(reader.rank, delay, reader.credit_at);
  core_.queue().push(
      {reader.credit_at, SimEvent::Kind::credit, from_, reader.rank, id_, number, reader.consumed});
  drop_finished();
}

bool SimChannel::has_for_sender() const {
  return source_seen_ != source_done_ ||
         std::any_of(readers_.begin(), readers_.end(), [](const Reader& reader) {
           return reader.credit_seen != reader.credit_arrived;
         });
}

bool SimChannel::has_for_reader(int number) const {
  const Reader& reader = readers_[static_cast<std::size_t>(number)];
  return reader.seen != reader.arrived;
}

bool SimChannel::pump_sender() {
  const bool moved = has_for_sender();
  source_seen_ = source_done_;
  for (auto& reader : readers_) reader.credit_seen = reader.credit_arrived;
  return moved;
}

bool SimChannel::pump_reader(int number) {
  const bool moved = has_for_reader(number);
  reader_at(number).seen = reader_at(number).arrived;
  return moved;
}

void SimChannel::cut() {
  if (sources_forgotten_) return;
  for (auto& reader : readers_) {
    std::uint64_t end = posted_;
    if (core_.carries_messages() && core_.random().chance(1, 2))
      end = static_cast<std::uint64_t>(core_.random().between(
          static_cast<std::int64_t>(reader.copied), static_cast<std::int64_t>(posted_)));
    reader.cut_at = std::min(reader.cut_at, end);
    core_.coverage().cut_messages += posted_ - reader.cut_at;
    for (std::uint64_t index = reader.copied; index < reader.cut_at; ++index) copy(reader, index);
  }
  sources_forgotten_ = true;
}

void SimChannel::forget_sources() {
  if (sources_forgotten_) return;
  sources_forgotten_ = true;
  for (auto& reader : readers_) reader.cut_at = std::min(reader.cut_at, reader.copied);
}

void SimChannel::forget_place(int number) {
  Reader& reader = reader_at(number);
  if (!reader.in_place) reader.into = nullptr;
}

}  // namespace gyre::transport
