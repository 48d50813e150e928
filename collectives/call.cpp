#include "collectives/call.hpp"

#include <fmt/format.h>

namespace gyre::collectives {

namespace {

// words[0]: count. words[1], from bit 0: collective 8, type 8, op 8, mapped 8, root 16, plan
// hash 16.
constexpr int type_shift = 8;
constexpr int op_shift = 16;
constexpr int root_shift = 32;
constexpr int hash_shift = 48;

template <typename Enum>
Enum field(std::uint64_t word, int shift) {
  return static_cast<Enum>(word >> shift & 0xff);
}

}  // namespace

Header encode(const Call& call, bool offers_mapped, std::uint16_t plan_hash) {
  Header header;
  header.words[0] = call.count;
  header.words[1] =
      static_cast<std::uint64_t>(call.collective) |
      static_cast<std::uint64_t>(call.type) << type_shift |
      static_cast<std::uint64_t>(call.op) << op_shift | (offers_mapped ? Header::mapped_bit : 0) |
      static_cast<std::uint64_t>(static_cast<std::uint16_t>(call.root)) << root_shift |
      static_cast<std::uint64_t>(plan_hash) << hash_shift;
  return header;
}

std::string describe(const Call& call) {
  if (call.collective == Collective::barrier) return "barrier";
  std::string text =
      fmt::format("{} of {} {}", name_of(call.collective), call.count, name_of(call.type));
  if (call.collective == Collective::broadcast) {
    text += fmt::format(" from rank {}", call.root);
  } else if (call.collective != Collective::all_gather) {
    text += fmt::format(", {}", name_of(call.op));
  }
  return text;
}

std::string describe(const Header& header) {
  const std::uint64_t word = header.words[1];
  Call call;
  call.collective = field<Collective>(word, 0);
  call.type = field<DataType>(word, type_shift);
  call.op = field<ReduceOp>(word, op_shift);
  call.root = static_cast<int>(word >> root_shift & 0xffff);
  call.count = header.words[0];
  return fmt::format("{} (plan {:04x})", describe(call), word >> hash_shift);
}

}  // namespace gyre::collectives
