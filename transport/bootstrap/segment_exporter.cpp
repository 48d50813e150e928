#include "transport/bootstrap/segment_exporter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace gyre::transport {
namespace {

/// Processes of a host that may import at once.
constexpr std::size_t importers_max = 4096;
/// One notice or answer per segment may wait for a slow importer.
constexpr std::size_t waiting_max = 2 * SegmentExchange::exports_max;

Status check_export(const SegmentExchange::Export& segment) {
  const auto invalid = [](std::string why) {
    return Status(Code::invalid_argument, std::move(why));
  };
  if (::fcntl(segment.memfd, F_GET_SEALS) < 0)
    return invalid(
        "the descriptor is no memfd; make the memory with memfd_create or gyre_allocate");
  struct stat about = {};
  if (::fstat(segment.memfd, &about) != 0) return system_error("fstat", errno);
  const auto file_bytes = static_cast<std::uint64_t>(about.st_size);
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (segment.offset % page_bytes != 0)
    return invalid(
        fmt::format("offset {} is no multiple of the page size {}", segment.offset, page_bytes));
  if (!segment.data || segment.bytes == 0) return invalid("an empty range can't be shared");
  if (segment.offset > file_bytes || segment.bytes > file_bytes - segment.offset)
    return invalid(fmt::format("{} bytes from offset {} are not in a memfd of {} bytes",
                               segment.bytes, segment.offset, file_bytes));
  return {};
}

}  // namespace

SegmentExporter::SegmentExporter(ControlThread& control) : control_(control) {}

SegmentExporter::~SegmentExporter() {
  acceptor_.reset();
  for (const auto& connection : connections_) connection->close();
}

Status SegmentExporter::serve(UniqueFd listening, const Secret& key) {
  key_ = key;
  Acceptor::Options options;
  options.secret = key;
  options.purpose = Purpose::segments;
  options.same_user = true;
  acceptor_ = std::make_unique<Acceptor>(control_, std::move(listening), options,
                                         [this](Client client) { on_client(std::move(client)); });
  return acceptor_->start();
}

void SegmentExporter::on_client(Client client) {
  if (connections_.size() >= importers_max) {
    send_welcome(client, key_, {Code::out_of_resources, "it serves too many processes already"});
    return;
  }
  if (!send_welcome(client, key_, {})) return;
  const auto place = connections_.emplace(connections_.end());
  Connection::Handlers handlers;
  handlers.on_message = [this, place](std::span<const std::byte> message) {
    return on_message(**place, message);
  };
  handlers.on_closed = [this, place](const Status&) { connections_.erase(place); };
  auto connection =
      Connection::open(control_, std::move(client.socket), std::move(handlers), waiting_max);
  if (connection.ok())
    *place = std::move(*connection);
  else
    connections_.erase(place);
}

bool SegmentExporter::on_message(Connection& connection, std::span<const std::byte> message) {
  const auto fetch = decode_fetch(message);
  if (!fetch) return false;
  SegmentAnswer answer{fetch->segment, fetch->generation, false, 0, 0};
  const std::lock_guard lock(mutex_);
  const Slot* slot = slot_of({fetch->segment, fetch->generation});
  if (!slot) {
    connection.send(encode(answer));
    return true;
  }
  answer.found = true;
  answer.offset = slot->offset;
  answer.bytes = slot->own->bytes();
  const int descriptor[] = {slot->memfd.get()};
  connection.send(encode(answer), descriptor);
  return true;
}

Result<SegmentName> SegmentExporter::add(const SegmentExchange::Export& segment) {
  if (auto status = check_export(segment); !status) return status;
  UniqueFd copy(::fcntl(segment.memfd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return system_error("F_DUPFD_CLOEXEC", errno);
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (slots_.size() >= SegmentExchange::exports_max)
      return Status(Code::out_of_resources,
                    fmt::format("{} memory segments are shared already, which is the limit; free "
                                "or deregister some, or share fewer and larger ones",
                                slots_.size()));
    slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  Slot& slot = slots_[number - 1];
  ++slot.generation;
  slot.memfd = std::move(copy);
  slot.offset = segment.offset;
  slot.own = std::make_shared<MappedSegment>(segment.data, segment.bytes);
  return SegmentName{number, slot.generation};
}

void SegmentExporter::withdraw(SegmentName name) {
  {
    const std::lock_guard lock(mutex_);
    if (!slot_of(name)) return;
    Slot& slot = slots_[name.segment - 1];
    slot.own->withdraw();
    slot.own.reset();
    slot.memfd.reset();
    free_.push_back(name.segment);
  }
  control_.post([this, name] {
    for (const auto& connection : connections_)
      connection->send(encode(Withdrawal{name.segment, name.generation}));
  });
}

std::shared_ptr<const MappedSegment> SegmentExporter::find(SegmentName name) const {
  const std::lock_guard lock(mutex_);
  const Slot* slot = slot_of(name);
  return slot ? slot->own : nullptr;
}

const SegmentExporter::Slot* SegmentExporter::slot_of(SegmentName name) const {
  if (name.segment == 0 || name.segment > slots_.size()) return nullptr;
  const Slot& slot = slots_[name.segment - 1];
  return slot.memfd && slot.generation == name.generation ? &slot : nullptr;
}

}  // namespace gyre::transport
