#include "transport/bootstrap/segment_exchange.hpp"

#include "base/codec.hpp"
#include "base/hmac.hpp"
#include "transport/bootstrap/segment_exporter.hpp"
#include "transport/bootstrap/segment_importer.hpp"

namespace gyre::transport {

std::array<std::byte, ExchangeAddress::encoded_bytes> ExchangeAddress::encode() const {
  std::array<std::byte, encoded_bytes> bytes = {};
  Writer writer(bytes);
  writer.bytes(name);
  writer.bytes(key);
  return bytes;
}

Result<ExchangeAddress> ExchangeAddress::decode(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  ExchangeAddress address;
  address.name = reader.array<sizeof(AbstractName)>();
  address.key = reader.array<sizeof(Secret)>();
  if (!reader.finished()) return Status(Code::mismatch, "this is no address of a segment exchange");
  return address;
}

SegmentExchange::SegmentExchange(ControlThread& control, const ExchangeAddress& address)
    : control_(control),
      address_(address),
      exporter_(std::make_unique<SegmentExporter>(control)),
      importer_(std::make_unique<SegmentImporter>(control)) {}

Result<std::unique_ptr<SegmentExchange>> SegmentExchange::start(ControlThread& control) {
  ExchangeAddress address;
  if (auto status = fill_random(address.key); !status) return status;
  auto listening = listen_on_fresh_name(address.name);
  if (!listening) return listening.status();
  std::unique_ptr<SegmentExchange> exchange(new SegmentExchange(control, address));
  Status status = Status(Code::internal, "this context is of a process that has forked");
  control.run([&] { status = exchange->exporter_->serve(std::move(*listening), address.key); });
  if (!status) return status;
  return exchange;
}

SegmentExchange::~SegmentExchange() {
  control_.run([this] {
    exporter_.reset();
    importer_.reset();
  });
}

Result<SegmentName> SegmentExchange::add(const Export& segment) { return exporter_->add(segment); }

void SegmentExchange::withdraw(SegmentName name) { exporter_->withdraw(name); }

SegmentLookup SegmentExchange::lookup(const ExchangeAddress& owner, SegmentName name) {
  using State = SegmentLookup::State;
  if (!(owner == address_)) return importer_->lookup(owner, name);
  if (auto own = exporter_->find(name)) return {State::ready, std::move(own), {}};
  return {State::refused, nullptr, "this process has no such segment, or no longer"};
}

std::uint64_t SegmentExchange::on_progress(std::function<void()> callback) {
  std::uint64_t number = 0;
  control_.run([&] { number = importer_->on_progress(std::move(callback)); });
  return number;
}

void SegmentExchange::stop_progress(std::uint64_t number) {
  control_.run([&] { importer_->stop_progress(number); });
}

}  // namespace gyre::transport
