#include "collectives/call.hpp"

#include <fmt/format.h>

namespace gyre::collectives {

namespace {

template <typename Enum>
Enum field(std::uint64_t word, int shift) {
  return static_cast<Enum>(word >> shift & 0xff);
}

}  // namespace

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
  call.type = field<DataType>(word, Header::type_shift);
  call.op = field<ReduceOp>(word, Header::op_shift);
  call.root = static_cast<int>(word >> Header::root_shift & 0xffff);
  call.count = header.words[0];
  return fmt::format("{} (plan {:04x})", describe(call), word >> Header::hash_shift);
}

}  // namespace gyre::collectives
