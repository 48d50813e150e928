#include "transport/bootstrap/peer_watch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace gyre::transport {
namespace {

using Word = std::uint32_t;  // 0: nothing noted

constexpr Word departure = 1;
constexpr Word failure_of_rank_0 = 2;  // and so on

std::size_t page_bytes(int size) { return static_cast<std::size_t>(size) * sizeof(Word); }

// Read by others after the end of the process that wrote it, which the kernel orders after
// everything in it: so relaxed stores do.
std::atomic_ref<Word> word_of(const SharedMapping& mapping, int rank) {
  return std::atomic_ref(reinterpret_cast<Word*>(mapping.data())[rank]);
}

}  // namespace

Result<UniqueFd> own_pidfd() {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!fd) return system_error("pidfd_open (Linux 5.3 or newer is needed)", errno);
  return fd;
}

Result<UniqueFd> DeparturePage::make(int size) {
  return make_sealed_memory("gyre-departures", page_bytes(size));
}

Result<DeparturePage> DeparturePage::map(int fd, int size) {
  if (auto status = check_sealed_memory(fd, page_bytes(size)); !status)
    return status.within("page of departures");
  auto mapping = SharedMapping::of(fd, 0, page_bytes(size));
  if (!mapping) return mapping.status();
  DeparturePage page;
  page.mapping_ = std::move(*mapping);
  page.size_ = size;
  return page;
}

void DeparturePage::note_departure(int rank) {
  word_of(mapping_, rank).store(departure, std::memory_order_relaxed);
}

void DeparturePage::note_failure(int rank, int failed) {
  word_of(mapping_, rank)
      .store(failure_of_rank_0 + static_cast<Word>(failed), std::memory_order_relaxed);
}

LastNote DeparturePage::last_note(int rank) const {
  const Word word = word_of(mapping_, rank).load(std::memory_order_relaxed);
  LastNote note;
  note.in_order = word == departure;
  const Word named = word - failure_of_rank_0;
  if (named < static_cast<Word>(size_) && named != static_cast<Word>(rank))
    note.failed = static_cast<int>(named);
  return note;
}

PeerWatch::PeerWatch(ControlThread& control, DeparturePage page, Processes processes,
                     OnEnded on_ended)
    : control_(control),
      page_(std::move(page)),
      processes_(std::move(processes)),
      on_ended_(std::move(on_ended)),
      watches_(processes_.pidfds.size()) {}

Result<std::unique_ptr<PeerWatch>> PeerWatch::start(ControlThread& control, DeparturePage page,
                                                    Processes processes, OnEnded on_ended) {
  std::unique_ptr<PeerWatch> peers(
      new PeerWatch(control, std::move(page), std::move(processes), std::move(on_ended)));
  for (std::size_t first = 0; first < peers->watches_.size(); ++first) {
    const UniqueFd& pidfd = peers->processes_.pidfds[first];
    if (!pidfd) continue;
    const auto watch =
        control.watch(pidfd.get(), EPOLLIN, [raw = peers.get(), first](std::uint32_t) {
          raw->on_end_of_process(static_cast<int>(first));
        });
    if (!watch) return watch.status();
    peers->watches_[first] = *watch;
  }
  return peers;
}

PeerWatch::~PeerWatch() {
  for (const auto watch : watches_)
    if (watch != 0) control_.unwatch(watch);
}

void PeerWatch::on_end_of_process(int first) {
  const auto at = static_cast<std::size_t>(first);
  control_.unwatch(std::exchange(watches_[at], 0));
  processes_.pidfds[at].reset();
  for (std::size_t rank = at; rank < processes_.first.size(); ++rank)
    if (processes_.first[rank] == first)
      on_ended_(static_cast<int>(rank), page_.last_note(static_cast<int>(rank)));
}

}  // namespace gyre::transport
