#include "schedules/checker/links.hpp"

namespace gyre::schedules::checker {

Links::Links(int size, int channels, int slots)
    : size_(static_cast<std::size_t>(size)),
      slots_(static_cast<std::size_t>(slots)),
      casts_(size_ * static_cast<std::size_t>(channels)),
      messages_(1),
      runs_(1),
      clocks_(1) {}

const Links::Queue* Links::queue(int from_lane, int to) const {
  if (queues_.empty()) return nullptr;
  return &queues_[static_cast<std::size_t>(from_lane) * size_ + static_cast<std::size_t>(to)];
}

bool Links::has_message(int from_lane, int to) const {
  const Queue* link = queue(from_lane, to);
  return link != nullptr && link->length > 0;
}

bool Links::has_credit(int from_lane, int to) const {
  const Queue* link = queue(from_lane, to);
  return link == nullptr || link->length < slots_;
}

std::uint32_t Links::store(const Runs& runs, const Clock* clock) {
  std::uint32_t index = free_;
  if (index != 0) {
    free_ = messages_[index].next;
  } else {
    index = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  }
  Message& message = messages_[index];
  message = {};
  if (runs.size() == 1) {
    message.run = runs[0];
  } else {
    message.more = static_cast<std::uint32_t>(runs_.size());
    runs_.push_back(runs);
  }
  if (clock != nullptr) {
    message.clock = static_cast<std::uint32_t>(clocks_.size());
    clocks_.push_back(*clock);
  }
  return index;
}

void Links::load(const Message& message, Runs& out, Clock* clock) const {
  if (message.more == 0) {
    out.assign(1, message.run);
  } else {
    out = runs_[message.more];
  }
  if (clock != nullptr && message.clock != 0) join(*clock, clocks_[message.clock]);
}

std::uint64_t Links::send(int from_lane, int to, const Runs& runs, const Clock* clock) {
  if (queues_.empty()) queues_.resize(casts_.size() * size_);
  const std::uint32_t index = store(runs, clock);
  Queue& link = queues_[static_cast<std::size_t>(from_lane) * size_ + static_cast<std::size_t>(to)];
  if (link.length++ == 0) {
    link.oldest = index;
  } else {
    messages_[link.newest].next = index;
  }
  link.newest = index;
  return link.sent++;
}

void Links::receive(int from_lane, int to, Runs& out, Clock* clock) {
  Queue& link = queues_[static_cast<std::size_t>(from_lane) * size_ + static_cast<std::size_t>(to)];
  const std::uint32_t index = link.oldest;
  Message& message = messages_[index];
  load(message, out, clock);
  link.oldest = message.next;
  --link.length;
  message.next = free_;
  free_ = index;
}

bool Links::has_cast(int from_lane, int reader) const {
  const Cast& link = casts_[static_cast<std::size_t>(from_lane)];
  return !link.messages.empty() &&
         link.read[static_cast<std::size_t>(reader)] < link.messages.size();
}

bool Links::has_cast_credit(int from_lane, int reader) const {
  const Cast& link = casts_[static_cast<std::size_t>(from_lane)];
  return link.messages.empty() ||
         link.messages.size() - link.read[static_cast<std::size_t>(reader)] < slots_;
}

std::uint64_t Links::cast(int from_lane, const Runs& runs, const Clock* clock) {
  Cast& link = casts_[static_cast<std::size_t>(from_lane)];
  link.read.resize(size_);
  link.messages.push_back(store(runs, clock));
  return link.messages.size() - 1;
}

void Links::receive_cast(int from_lane, int reader, Runs& out, Clock* clock) {
  Cast& link = casts_[static_cast<std::size_t>(from_lane)];
  load(messages_[link.messages[link.read[static_cast<std::size_t>(reader)]++]], out, clock);
}

std::string Links::why_not_empty() const {
  const auto name = [&](std::size_t from_lane, std::size_t reader) {
    return "rank " + std::to_string(reader) + " has not read every message of rank " +
           std::to_string(from_lane % size_);
  };
  for (std::size_t i = 0; i < queues_.size(); ++i)
    if (queues_[i].length > 0) return name(i / size_, i % size_);
  for (std::size_t from = 0; from < casts_.size(); ++from)
    for (std::size_t reader = 0; reader < casts_[from].read.size(); ++reader)
      if (reader != from % size_ && casts_[from].read[reader] < casts_[from].messages.size())
        return name(from, reader) + " to all";
  return {};
}

}  // namespace gyre::schedules::checker
