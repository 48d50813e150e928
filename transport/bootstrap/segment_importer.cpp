#include "transport/bootstrap/segment_importer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace gyre::transport {
namespace {

/// The owner listens before anybody hears of it, so this only bounds a stopped owner.
constexpr Nanoseconds connect_ns = 10'000 * nanoseconds_per_ms;

/// Maps what `answer` describes, if it can be so.
Result<SharedMapping> map_answer(const SegmentAnswer& answer, int memfd) {
  if (::fcntl(memfd, F_GET_SEALS) < 0)
    return Status(Code::refused, "its owner sent something that is no memfd");
  struct stat about = {};
  if (::fstat(memfd, &about) != 0) return system_error("fstat", errno);
  const auto file_bytes = static_cast<std::uint64_t>(about.st_size);
  if (answer.bytes == 0 || answer.offset > file_bytes || answer.bytes > file_bytes - answer.offset)
    return Status(Code::refused, "its owner sent a memfd that is smaller than the segment");
  return SharedMapping::of(memfd, answer.offset, answer.bytes);
}

}  // namespace

SegmentImporter::SegmentImporter(ControlThread& control) : control_(control) {}

SegmentImporter::~SegmentImporter() {
  for (auto& [address, owner] : owners_)
    if (owner.connection) owner.connection->close();
}

SegmentLookup SegmentImporter::lookup(const ExchangeAddress& owner, SegmentName name) {
  const Key key{owner, name};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) {
      const Entry& entry = found->second;
      ages_.splice(ages_.begin(), ages_, entry.age);
      return {entry.state, entry.mapping, entry.reason};
    }
    if (!make_room())
      return {State::refused, nullptr, "too many segments are being fetched at once"};
    ages_.push_front(key);
    entries_[key].age = ages_.begin();
  }
  control_.post([this, key] { fetch(key); });
  return {State::pending, nullptr, {}};
}

/// Drops the mapping (or refusal) that has not been looked up for longest; one that is still held
/// stays mapped for its holder. False when everything is on its way. Under the lock.
bool SegmentImporter::make_room() {
  if (entries_.size() < SegmentExchange::imports_max) return true;
  for (auto age = ages_.end(); age != ages_.begin();) {
    const auto found = entries_.find(*--age);
    if (found->second.state == State::pending) continue;
    entries_.erase(found);
    ages_.erase(age);
    return true;
  }
  return false;
}

void SegmentImporter::fetch(const Key& key) {
  Owner& owner = owners_[key.owner];
  if (owner.connection) {
    owner.connection->send(encode(Fetch{key.name.segment, key.name.generation}));
    return;
  }
  owner.waiting.push_back(key.name);
  if (!owner.connector) connect(key.owner, owner);
}

void SegmentImporter::connect(const ExchangeAddress& address, Owner& owner) {
  Connector::Request request;
  request.address = address.name;
  request.secret = address.key;
  request.hello.purpose = Purpose::segments;
  request.hello.build = build_version();
  request.hello.timeout_ms = static_cast<std::uint32_t>(connect_ns / nanoseconds_per_ms);
  request.deadline = Deadline::after(monotonic_now(), connect_ns);
  request.server = "the segment's owner";
  request.same_user = true;
  request.retry_absent = false;
  owner.connector = std::make_unique<Connector>(
      control_, std::move(request),
      [this, address](Result<UniqueFd> socket) { on_connected(address, std::move(socket)); });
  owner.connector->start();
}

void SegmentImporter::on_connected(const ExchangeAddress& address, Result<UniqueFd> socket) {
  if (!socket) return forget(address, socket.status().message());
  Connection::Handlers handlers;
  handlers.on_message = [this, address](std::span<const std::byte> message) {
    return on_message(address, message);
  };
  handlers.on_closed = [this, address](const Status&) {
    forget(address, "its owner has ended or closed its context");
  };
  auto connection = Connection::open(control_, std::move(*socket), std::move(handlers),
                                     SegmentExchange::imports_max);
  if (!connection) return forget(address, connection.status().message());
  Owner& owner = owners_[address];
  owner.connection = std::move(*connection);
  for (const SegmentName name : std::exchange(owner.waiting, {}))
    owner.connection->send(encode(Fetch{name.segment, name.generation}));
}

bool SegmentImporter::on_message(const ExchangeAddress& address,
                                 std::span<const std::byte> message) {
  if (const auto answer = decode_segment_answer(message)) return on_answer(address, *answer);
  const auto withdrawal = decode_withdrawal(message);
  if (withdrawal) on_withdrawal(address, *withdrawal);
  return withdrawal.has_value();
}

bool SegmentImporter::on_answer(const ExchangeAddress& address, const SegmentAnswer& answer) {
  const Key key{address, {answer.segment, answer.generation}};
  if (!answer.found) {
    settle(key, Status(Code::refused, "its owner has no such segment, or no longer"));
    return true;
  }
  const UniqueFd memfd = owners_[address].connection->claim_descriptor();
  if (!memfd) return false;
  settle(key, map_answer(answer, memfd.get()));
  return true;
}

void SegmentImporter::settle(const Key& key, Result<SharedMapping> outcome) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.state != State::pending) return;
    Entry& entry = found->second;
    if (outcome.ok()) {
      entry.mapping = std::make_shared<MappedSegment>(std::move(*outcome));
      entry.state = State::ready;
    } else {
      entry.reason = outcome.status().message();
      entry.state = State::refused;
    }
  }
  tell_progress();
}

void SegmentImporter::on_withdrawal(const ExchangeAddress& address, const Withdrawal& withdrawal) {
  const Key key{address, {withdrawal.segment, withdrawal.generation}};
  std::shared_ptr<MappedSegment> unmapped;  // outside the lock
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  // One that is on its way gets its answer, which was sent before.
  if (found == entries_.end() || found->second.state != State::ready) return;
  unmapped = std::move(found->second.mapping);
  unmapped->withdraw();
  ages_.erase(found->second.age);
  entries_.erase(found);
}

/// The owner can't be reached (any more): what is on its way will not come, what is mapped is
/// stale.
void SegmentImporter::forget(const ExchangeAddress& address, const std::string& why) {
  std::vector<std::shared_ptr<MappedSegment>> unmapped;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto here = entry++;
      if (!(here->first.owner == address)) continue;
      if (here->second.state == State::pending) {
        here->second.state = State::refused;
        here->second.reason = why;
      } else if (here->second.state == State::ready) {
        here->second.mapping->withdraw();
        unmapped.push_back(std::move(here->second.mapping));
        ages_.erase(here->second.age);
        entries_.erase(here);
      }
    }
  }
  // Later: a connector may be calling us.
  const auto owner = owners_.extract(address);
  if (!owner.empty()) control_.post([gone = std::make_shared<Owner>(std::move(owner.mapped()))] {});
  tell_progress();
}

std::uint64_t SegmentImporter::on_progress(std::function<void()> callback) {
  callbacks_.emplace(next_callback_, std::move(callback));
  return next_callback_++;
}

void SegmentImporter::tell_progress() {
  for (const auto& [number, callback] : callbacks_) callback();
}

}  // namespace gyre::transport
