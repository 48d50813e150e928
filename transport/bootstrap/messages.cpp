#include "transport/bootstrap/messages.hpp"

#include "base/codec.hpp"

namespace gyre::transport {
namespace {

/// Makes a frame: `fields` writes what follows the type. Never longer than frame_bytes_max.
template <typename Fields>
std::vector<std::byte> frame(MessageType type, const Fields& fields) {
  std::array<std::byte, frame_bytes_max> buffer;
  Writer body{std::span(buffer).subspan(frame_prefix_bytes)};
  body.u8(static_cast<std::uint8_t>(type));
  fields(body);
  const auto body_bytes = body.written().size();
  Writer prefix{std::span(buffer).first(frame_prefix_bytes)};
  prefix.u32(static_cast<std::uint32_t>(body_bytes));
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(frame_prefix_bytes) +
                              static_cast<std::ptrdiff_t>(body_bytes)};
}

/// Reads a message of `type`: `fields` fills `value`. Nothing if the type differs or bytes lack or
/// are left over.
template <typename T, typename Fields>
std::optional<T> parse(MessageType type, std::span<const std::byte> message, const Fields& fields) {
  Reader reader(message);
  if (reader.u8() != static_cast<std::uint8_t>(type)) return {};
  T value;
  fields(reader, value);
  if (!reader.finished()) return {};
  return value;
}

void put_record(Writer& writer, std::span<const std::byte> record) {
  writer.u16(static_cast<std::uint16_t>(record.size()));
  writer.bytes(record);
}

std::span<const std::byte> get_record(Reader& reader) {
  const std::size_t bytes = reader.u16();
  return reader.bytes(bytes);
}

}  // namespace

std::optional<MessageType> type_of(std::span<const std::byte> message) {
  if (message.empty()) return {};
  return static_cast<MessageType>(message[0]);
}

std::vector<std::byte> encode(const Contribution& message) {
  return frame(MessageType::contribution, [&](Writer& writer) {
    writer.u32(message.sequence);
    writer.u32(message.timeout_ms);
    put_record(writer, message.record);
  });
}

std::optional<Contribution> decode_contribution(std::span<const std::byte> message) {
  return parse<Contribution>(MessageType::contribution, message, [](Reader& reader, auto& value) {
    value.sequence = reader.u32();
    value.timeout_ms = reader.u32();
    value.record = get_record(reader);
  });
}

std::vector<std::byte> encode(const Record& message) {
  return frame(MessageType::record, [&](Writer& writer) {
    writer.u32(message.sequence);
    writer.i32(message.rank);
    put_record(writer, message.record);
  });
}

std::optional<Record> decode_record(std::span<const std::byte> message) {
  return parse<Record>(MessageType::record, message, [](Reader& reader, auto& value) {
    value.sequence = reader.u32();
    value.rank = reader.i32();
    value.record = get_record(reader);
  });
}

std::vector<std::byte> encode(const RoundComplete& message) {
  return frame(MessageType::round_complete, [&](Writer& writer) { writer.u32(message.sequence); });
}

std::optional<RoundComplete> decode_round_complete(std::span<const std::byte> message) {
  return parse<RoundComplete>(MessageType::round_complete, message,
                              [](Reader& reader, auto& value) { value.sequence = reader.u32(); });
}

std::vector<std::byte> encode(const GroupFailure& message) {
  return frame(MessageType::failure, [&](Writer& writer) {
    writer.u8(static_cast<std::uint8_t>(message.what.code));
    writer.i32(message.what.rank);
    writer.i32(message.what.reporter);
    writer.u64(message.what.sequence);
    for (const auto& header : message.what.header)
      for (const std::uint64_t word : header) writer.u64(word);
    writer.text(message.text, GroupFailure::text_bytes_max);
  });
}

std::optional<GroupFailure> decode_failure(std::span<const std::byte> message) {
  auto failure =
      parse<GroupFailure>(MessageType::failure, message, [](Reader& reader, auto& value) {
        value.what.code = static_cast<Code>(reader.u8());
        value.what.rank = reader.i32();
        value.what.reporter = reader.i32();
        value.what.sequence = reader.u64();
        for (auto& header : value.what.header)
          for (std::uint64_t& word : header) word = reader.u64();
        value.text = reader.text(GroupFailure::text_bytes_max);
      });
  if (failure && (failure->what.code <= Code::ok || failure->what.code > Code::internal)) return {};
  return failure;
}

std::vector<std::byte> encode(const Goodbye& message) {
  return frame(MessageType::goodbye, [&](Writer& writer) { writer.i32(message.rank); });
}

std::optional<Goodbye> decode_goodbye(std::span<const std::byte> message) {
  return parse<Goodbye>(MessageType::goodbye, message,
                        [](Reader& reader, auto& value) { value.rank = reader.i32(); });
}

std::vector<std::byte> encode(const Process& message) {
  return frame(MessageType::process, [&](Writer& writer) { writer.bytes(message.token); });
}

std::optional<Process> decode_process(std::span<const std::byte> message) {
  return parse<Process>(MessageType::process, message, [](Reader& reader, auto& value) {
    value.token = reader.array<sizeof(ProcessToken)>();
  });
}

std::vector<std::byte> encode(const SharedMemory& message) {
  return frame(MessageType::shared_memory, [&](Writer& writer) { writer.u64(message.bytes); });
}

std::optional<SharedMemory> decode_shared_memory(std::span<const std::byte> message) {
  return parse<SharedMemory>(MessageType::shared_memory, message,
                             [](Reader& reader, auto& value) { value.bytes = reader.u64(); });
}

std::vector<std::byte> encode(const Lifeline& message) {
  return frame(MessageType::lifeline, [&](Writer& writer) {
    writer.i32(message.rank);
    writer.i32(message.first);
    writer.u8(message.has_descriptor ? 1 : 0);
  });
}

std::optional<Lifeline> decode_lifeline(std::span<const std::byte> message) {
  return parse<Lifeline>(MessageType::lifeline, message, [](Reader& reader, auto& value) {
    value.rank = reader.i32();
    value.first = reader.i32();
    value.has_descriptor = reader.u8() != 0;
  });
}

std::vector<std::byte> encode(const Received&) {
  return frame(MessageType::received, [](Writer&) {});
}

bool decode_received(std::span<const std::byte> message) {
  return parse<Received>(MessageType::received, message, [](Reader&, auto&) {}).has_value();
}

std::vector<std::byte> encode(const Fetch& message) {
  return frame(MessageType::fetch, [&](Writer& writer) {
    writer.u32(message.segment);
    writer.u32(message.generation);
  });
}

std::optional<Fetch> decode_fetch(std::span<const std::byte> message) {
  return parse<Fetch>(MessageType::fetch, message, [](Reader& reader, auto& value) {
    value.segment = reader.u32();
    value.generation = reader.u32();
  });
}

std::vector<std::byte> encode(const SegmentAnswer& message) {
  return frame(MessageType::segment, [&](Writer& writer) {
    writer.u32(message.segment);
    writer.u32(message.generation);
    writer.u8(message.found ? 1 : 0);
    writer.u64(message.offset);
    writer.u64(message.bytes);
  });
}

std::optional<SegmentAnswer> decode_segment_answer(std::span<const std::byte> message) {
  return parse<SegmentAnswer>(MessageType::segment, message, [](Reader& reader, auto& value) {
    value.segment = reader.u32();
    value.generation = reader.u32();
    value.found = reader.u8() != 0;
    value.offset = reader.u64();
    value.bytes = reader.u64();
  });
}

std::vector<std::byte> encode(const Withdrawal& message) {
  return frame(MessageType::withdrawal, [&](Writer& writer) {
    writer.u32(message.segment);
    writer.u32(message.generation);
  });
}

std::optional<Withdrawal> decode_withdrawal(std::span<const std::byte> message) {
  return parse<Withdrawal>(MessageType::withdrawal, message, [](Reader& reader, auto& value) {
    value.segment = reader.u32();
    value.generation = reader.u32();
  });
}

}  // namespace gyre::transport
