// Lets the processes of a host map each other's memory when they first need it: a process exports
// segments (ranges of memfds) under a number and a generation; others look them up, and the control
// thread fetches the descriptor over an abstract unix socket, checks it, and maps it. One per
// Context.
//
// A mapping of memory whose file a peer may still shrink can end in SIGBUS. gyre's own memory is
// sealed against that; a range that a user has registered may not be, and is then as trustworthy as
// the peer process, which has proved the job's secret and has our user id.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "transport/bootstrap/control_thread.hpp"
#include "transport/bootstrap/sealed_memory.hpp"
#include "transport/bootstrap/socket.hpp"
#include "transport/bootstrap/unique_id.hpp"

namespace gyre::transport {

/// Where a process serves its segments, and the key to them. Ranks exchange it in a group's records
/// (which only authenticated ranks see). Not for logs.
struct ExchangeAddress {
  static constexpr std::size_t encoded_bytes = 32;
  AbstractName name = {};
  Secret key = {};

  std::array<std::byte, encoded_bytes> encode() const;
  static Result<ExchangeAddress> decode(std::span<const std::byte> bytes);
  bool operator==(const ExchangeAddress&) const = default;
};

/// A segment in our address space. Whoever holds the shared_ptr keeps it mapped; drop it when no
/// operation uses it and withdrawn() says that its owner has freed it.
class MappedSegment {
 public:
  /// Another process's, unmapped on destruction.
  explicit MappedSegment(SharedMapping mapping)
      : mapping_(std::move(mapping)), data_(mapping_.data()), bytes_(mapping_.bytes()) {}
  /// Our own, at its owner's address.
  MappedSegment(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Any thread.
  bool withdrawn() const { return withdrawn_.load(std::memory_order_relaxed); }
  void withdraw() { withdrawn_.store(true, std::memory_order_relaxed); }

 private:
  SharedMapping mapping_;
  std::byte* const data_;
  const std::size_t bytes_;
  // Advice, not synchronisation: the memory itself stays valid until it is unmapped.
  std::atomic<bool> withdrawn_ = false;
};

struct SegmentName {
  std::uint32_t segment = 0;     ///< from 1
  std::uint32_t generation = 0;  ///< from 1; changes each time the number is used again

  bool operator==(const SegmentName&) const = default;
};

struct SegmentLookup {
  enum class State : std::uint8_t { ready, pending, refused };
  State state = State::refused;
  std::shared_ptr<const MappedSegment> mapping;  ///< where ready
  std::string reason;                            ///< where refused
};

class SegmentExporter;
class SegmentImporter;

/// Any thread. Must not outlive its ControlThread.
class SegmentExchange {
 public:
  /// Segments exported by a process at once, and mappings of other processes' segments kept.
  static constexpr std::size_t exports_max = 4096;
  static constexpr std::size_t imports_max = 1024;

  static Result<std::unique_ptr<SegmentExchange>> start(ControlThread& control);
  /// Segments still exported are withdrawn; mappings that others hold stay valid.
  ~SegmentExchange();

  const ExchangeAddress& address() const { return address_; }

  /// What this process offers: `bytes` of `memfd` from `offset` (a multiple of the page size),
  /// which it has mapped at `data`. `memfd` is borrowed and duplicated.
  struct Export {
    int memfd = -1;
    std::uint64_t offset = 0;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  /// invalid_argument: no memfd, or it is smaller. out_of_resources: exports_max reached.
  Result<SegmentName> add(const Export& segment);
  /// Tells those who have mapped it. Unknown names are ignored. The memory is given back to the
  /// system when the last of them has let go of it.
  void withdraw(SegmentName name);

  /// Never blocks. pending: asked for; ask again after the callback of on_progress. refused is
  /// remembered. A segment of this same exchange is ready at once, at the owner's own address.
  SegmentLookup lookup(const ExchangeAddress& owner, SegmentName name);

  /// `callback` is called on the control thread whenever a pending lookup has an answer. Returns a
  /// number for stop_progress(), after which the callback does not run any more. It may not call
  /// either of these two.
  std::uint64_t on_progress(std::function<void()> callback);
  void stop_progress(std::uint64_t number);

 private:
  SegmentExchange(ControlThread& control, const ExchangeAddress& address);

  ControlThread& control_;
  const ExchangeAddress address_;
  std::unique_ptr<SegmentExporter> exporter_;
  std::unique_ptr<SegmentImporter> importer_;
};

}  // namespace gyre::transport
