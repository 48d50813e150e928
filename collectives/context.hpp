// What a process shares between its communicators: the environment it was made with, the log, the
// control thread, and the memory that other ranks may map. Nothing here is global.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "collectives/memory_registry.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/listener.hpp"
#include "transport/bootstrap/segment_exchange.hpp"
#include "transport/bootstrap/unique_id.hpp"
#include "transport/shm/segment.hpp"

namespace gyre::collectives {

/// Any thread, except destruction.
class Context {
 public:
  /// Unique ids made here and not used yet, at most.
  static constexpr std::size_t listeners_max = 64;

  static Result<std::unique_ptr<Context>> create(const Settings& settings, const Log& log);
  ~Context();

  const Settings& settings() const { return settings_; }
  const Log& log() const { return log_; }
  transport::ControlThread& control() { return *control_; }
  transport::SegmentExchange& exchange() { return *exchange_; }
  MemoryRegistry& memory() { return *memory_; }

  /// An id, and the listener behind it, which waits here for rank 0.
  Result<transport::UniqueId> make_id();
  /// The listener of `id`, or nullptr: it was made by another context, or is taken.
  std::unique_ptr<transport::Listener> take_listener(const transport::UniqueId& id);

  /// An error in a process that was forked after the context was made: threads and descriptors that
  /// it lives on are the parent's.
  Status check_process() const;

  // Memory of a communicator: ranks of one process share one Segment object, so one mapping.
  Result<std::shared_ptr<transport::shm::Segment>> create_segment(
      const transport::shm::SegmentLayout& layout);
  /// `memfd` is what another rank, of this process or not, has created.
  Result<std::shared_ptr<transport::shm::Segment>> attach_segment(
      int memfd, const transport::shm::SegmentLayout& layout);

  // Communicators alive; the context may go only when there are none.
  void add_communicator() { communicators_.fetch_add(1, std::memory_order_relaxed); }
  void remove_communicator() { communicators_.fetch_sub(1, std::memory_order_relaxed); }
  int communicators() const { return communicators_.load(std::memory_order_relaxed); }

 private:
  struct KnownSegment {
    std::uint64_t device;
    std::uint64_t inode;
    std::weak_ptr<transport::shm::Segment> segment;
  };

  Context(const Settings& settings, const Log& log);
  Status open();
  Status remember(int memfd, const std::shared_ptr<transport::shm::Segment>& segment);

  const Settings settings_;
  const Log log_;
  const transport::shm::FenceMode fence_mode_;
  std::byte* fork_guard_ = nullptr;  ///< a page that the kernel wipes in a forked child
  std::unique_ptr<transport::ControlThread> control_;
  std::unique_ptr<transport::SegmentExchange> exchange_;
  std::unique_ptr<MemoryRegistry> memory_;
  std::mutex mutex_;  // guards the lists below
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  std::vector<KnownSegment> segments_;
  std::atomic<int> communicators_ = 0;
};

}  // namespace gyre::collectives
