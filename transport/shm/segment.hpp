// The memory that the ranks of one communicator on one host share: one sealed memory file, made by
// one of them, its descriptor passed to the others.
//
// Ranks that are threads of one process share one Segment object and so one mapping, which is also
// what lets ThreadSanitizer see them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "transport/shm/layout.hpp"
#include "transport/shm/pages.hpp"

namespace gyre::transport::shm {

class Segment {
 public:
  /// Makes the file. `mode` is what register_fences() gave this process.
  static Result<std::shared_ptr<Segment>> create(const SegmentLayout& layout, FenceMode mode);

  /// Maps the file of another process; `fd` is borrowed. Refused unless it is sealed, as long as
  /// `expected` says, made for the same shape, and with fences that this process can keep to.
  static Result<std::shared_ptr<Segment>> attach(int fd, const SegmentLayout& expected,
                                                 FenceMode mode);

  /// To be passed to other processes; -1 in an attached segment. Belongs to the segment.
  int fd() const { return file_.fd.get(); }
  const SegmentLayout& layout() const { return layout_; }
  FenceMode fence_mode() const { return mode_; }
  /// For the log: what pages the segment got; empty in an attached one.
  const std::string& note() const { return file_.note; }

  Sleepers<HostMemory>& sleepers() { return *at<Sleepers<HostMemory>>(layout_.sleepers); }
  FailureWord<HostMemory>& failure() { return *at<FailureWord<HostMemory>>(layout_.failure); }
  std::span<FailureDetails<HostMemory>> details() {
    return per_rank<FailureDetails<HostMemory>>(layout_.details);
  }
  std::span<Bell<HostMemory>> bells() { return per_rank<Bell<HostMemory>>(layout_.bells); }
  std::span<Announcements<HostMemory>::Ring> rings() {
    return per_rank<Announcements<HostMemory>::Ring>(layout_.rings);
  }
  Counter<HostMemory>& left(int rank) { return counter(layout_.left, rank); }
  Counter<HostMemory>& departed(int rank) { return counter(layout_.departed, rank); }
  std::span<Note<HostMemory>> notes() { return per_rank<Note<HostMemory>>(layout_.notes); }
  Counter<HostMemory>& published(int receiver, int sender) {
    return counter(layout_.published, receiver, sender);
  }
  Counter<HostMemory>& consumed(int sender, int receiver) {
    return counter(layout_.consumed, sender, receiver);
  }
  Counter<HostMemory>& cast_published(int sender) {
    return counter(layout_.cast_published, sender);
  }
  Counter<HostMemory>& cast_consumed(int sender, int receiver) {
    return counter(layout_.cast_consumed, sender, receiver);
  }
  /// The counters of all receivers of `sender`'s cast link, its own unused.
  std::span<const Counter<HostMemory>> all_cast_consumed(int sender) {
    return {&cast_consumed(sender, 0), static_cast<std::size_t>(layout_.ranks)};
  }
  std::byte* pair_slots(int receiver, int sender) {
    return file_.mapping.data() + layout_.pair_slots_of(receiver, sender);
  }
  std::byte* cast_slots(int sender) { return file_.mapping.data() + layout_.cast_slots_of(sender); }

 private:
  Segment(const SegmentLayout& layout, FenceMode mode, MemoryFile file)
      : layout_(layout), mode_(mode), file_(std::move(file)) {}

  /// The file's zero bytes are the initial value of everything in it, so nothing is constructed.
  template <class T>
  T* at(std::size_t offset) {
    return reinterpret_cast<T*>(file_.mapping.data() + offset);
  }
  template <class T>
  std::span<T> per_rank(std::size_t offset) {
    return {at<T>(offset), static_cast<std::size_t>(layout_.ranks)};
  }
  Counter<HostMemory>& counter(std::size_t offset, int index) {
    return at<Counter<HostMemory>>(offset)[index];
  }
  Counter<HostMemory>& counter(std::size_t offset, int first, int second) {
    return at<Counter<HostMemory>>(offset)[layout_.pair_index(first, second)];
  }

  SegmentLayout layout_;
  FenceMode mode_;
  MemoryFile file_;
};

}  // namespace gyre::transport::shm
