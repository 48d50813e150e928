#include "collectives/context.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"

namespace gyre::collectives {

Result<std::unique_ptr<Context>> Context::create(const Settings& settings, const Log& log) {
  std::unique_ptr<Context> context(new Context(settings, log));
  if (Status status = context->open(); !status) return status;
  for (const std::string& warning : settings.warnings) log.warn("{}", warning);
  return context;
}

// Fences are registered here, before the control thread exists: with one thread it is cheap.
Context::Context(const Settings& settings, const Log& log)
    : settings_(settings), log_(log), fence_mode_(transport::shm::register_fences()) {}

Status Context::open() {
  const std::size_t page = device::page_bytes();
  void* guard = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (guard == MAP_FAILED) return system_error("context: mmap", errno);
  fork_guard_ = static_cast<std::byte*>(guard);
  if (madvise(guard, page, MADV_WIPEONFORK) != 0)
    return system_error("context: madvise(MADV_WIPEONFORK)", errno);
  *fork_guard_ = std::byte{1};

  auto control = transport::ControlThread::start();
  if (!control) return control.status().within("context");
  control_ = std::move(*control);
  auto exchange = transport::SegmentExchange::start(*control_);
  if (!exchange) return exchange.status().within("context");
  exchange_ = std::move(*exchange);
  memory_ = std::make_unique<MemoryRegistry>(*exchange_);
  return {};
}

Context::~Context() {
  memory_.reset();
  listeners_.clear();
  exchange_.reset();
  control_.reset();
  if (fork_guard_) munmap(fork_guard_, device::page_bytes());
}

Status Context::check_process() const {
  if (*fork_guard_ == std::byte{1}) return {};
  return Status(
      Code::invalid_argument,
      "this process was forked after its gyre context was made; the context belongs to the "
      "parent: make a new one after fork");
}

Result<transport::UniqueId> Context::make_id() {
  auto listener = transport::Listener::open(*control_, settings_.interface);
  if (!listener) return listener.status();
  const transport::UniqueId id = (*listener)->id();
  const std::lock_guard lock(mutex_);
  if (listeners_.size() == listeners_max) {
    return Status(Code::out_of_resources,
                  fmt::format("{} unique ids of this context wait for their rank 0; use them first",
                              listeners_max));
  }
  listeners_.push_back(std::move(*listener));
  return id;
}

std::unique_ptr<transport::Listener> Context::take_listener(const transport::UniqueId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(listeners_.begin(), listeners_.end(),
                                  [&](const auto& listener) { return listener->id() == id; });
  if (found == listeners_.end()) return nullptr;
  auto listener = std::move(*found);
  listeners_.erase(found);
  return listener;
}

Result<std::shared_ptr<transport::shm::Segment>> Context::create_segment(
    const transport::shm::SegmentLayout& layout) {
  auto segment = transport::shm::Segment::create(layout, fence_mode_);
  if (!segment) return segment.status();
  const std::lock_guard lock(mutex_);
  if (Status status = remember((*segment)->fd(), *segment); !status) return status;
  return segment;
}

Result<std::shared_ptr<transport::shm::Segment>> Context::attach_segment(
    int memfd, const transport::shm::SegmentLayout& layout) {
  struct stat file {};
  if (fstat(memfd, &file) != 0) return system_error("shared memory: fstat", errno);
  const std::lock_guard lock(mutex_);
  for (const KnownSegment& known : segments_) {
    if (known.device != file.st_dev || known.inode != file.st_ino) continue;
    if (auto segment = known.segment.lock()) return segment;
  }
  auto segment = transport::shm::Segment::attach(memfd, layout, fence_mode_);
  if (!segment) return segment.status();
  if (Status status = remember(memfd, *segment); !status) return status;
  return segment;
}

Status Context::remember(int memfd, const std::shared_ptr<transport::shm::Segment>& segment) {
  struct stat file {};
  if (fstat(memfd, &file) != 0) return system_error("shared memory: fstat", errno);
  std::erase_if(segments_, [](const KnownSegment& known) { return known.segment.expired(); });
  segments_.push_back({file.st_dev, file.st_ino, segment});
  return {};
}

}  // namespace gyre::collectives
