#include "collectives/configuration.hpp"

#include <sched.h>

#include <bit>

#include "base/codec.hpp"
#include "transport/bootstrap/group.hpp"

namespace gyre::collectives {

namespace {

constexpr std::size_t rules_max = 128;
constexpr std::size_t name_bytes_max = 64;

}  // namespace

int CpuMask::count() const {
  int count = 0;
  for (const std::uint64_t word : words) count += std::popcount(word);
  return count;
}

CpuMask CpuMask::current() {
  CpuMask mask;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return mask;
  for (int cpu = 0; cpu < cpus_max && cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) mask.words[static_cast<std::size_t>(cpu) / 64] |= 1ull << cpu % 64;
  return mask;
}

std::vector<std::byte> RankRecord::encode() const {
  std::vector<std::byte> buffer(transport::Group::record_bytes_max);
  Writer writer(buffer);
  writer.bytes(exchange.encode());
  for (const std::uint64_t word : cpus.words) writer.u64(word);
  writer.u8(strict ? 1 : 0);
  writer.text(tuning.forced, name_bytes_max);
  writer.u32(tuning.slot_bytes);
  writer.u32(static_cast<std::uint32_t>(tuning.slots));
  writer.u16(static_cast<std::uint16_t>(tuning.rules.size()));
  for (const Rule& rule : tuning.rules) {
    writer.u8(static_cast<std::uint8_t>(rule.schedule->collective));
    writer.text(rule.schedule->algorithm, name_bytes_max);
    writer.u64(rule.bytes_max);
    writer.i32(rule.ranks_min);
    writer.u32(rule.piece_bytes);
  }
  buffer.resize(writer.written().size());
  return buffer;
}

Result<RankRecord> RankRecord::decode(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  RankRecord record;
  const auto exchange =
      transport::ExchangeAddress::decode(reader.bytes(transport::ExchangeAddress::encoded_bytes));
  for (std::uint64_t& word : record.cpus.words) word = reader.u64();
  record.strict = reader.u8() != 0;
  record.tuning.forced = reader.text(name_bytes_max);
  record.tuning.slot_bytes = reader.u32();
  record.tuning.slots = static_cast<int>(reader.u32());
  const std::size_t rules = reader.u16();
  bool known = rules <= rules_max;
  record.tuning.rules.clear();
  for (std::size_t i = 0; known && i < rules && reader.ok(); ++i) {
    Rule rule{};
    const auto collective = static_cast<Collective>(reader.u8());
    rule.schedule = schedules::find_schedule(collective, reader.text(name_bytes_max));
    rule.bytes_max = reader.u64();
    rule.ranks_min = reader.i32();
    rule.piece_bytes = reader.u32();
    known = rule.schedule != nullptr && rule.piece_bytes > 0;
    record.tuning.rules.push_back(rule);
  }
  if (!known || !exchange || !reader.finished()) {
    return Status(Code::mismatch,
                  "a rank's configuration can't be read: do all ranks run the same gyre?");
  }
  record.exchange = *exchange;
  return record;
}

}  // namespace gyre::collectives
