#include "collectives/arguments.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "collectives/announcing.hpp"

namespace gyre::collectives {

namespace {

/// Buffers of more bytes than this can't exist; sums of offsets below it don't overflow.
constexpr std::uint64_t bytes_max = std::numeric_limits<std::int64_t>::max();

Status invalid(const Arguments& arguments, std::string_view text) {
  return Status(Code::invalid_argument, fmt::format("{}: {}", name_of(arguments.collective), text));
}

template <typename Row>
std::string names_of(const Row& rows) {
  std::string names;
  for (const auto& row : rows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

Status check_numbers(const Arguments& arguments, int size) {
  if (!find(static_cast<DataType>(arguments.type)) || arguments.type < 0 || arguments.type > 255) {
    return invalid(arguments, fmt::format("unknown dtype {}; there are {}", arguments.type,
                                          names_of(data_types)));
  }
  if (reduces(arguments.collective) &&
      (!find(static_cast<ReduceOp>(arguments.op)) || arguments.op < 0 || arguments.op > 255)) {
    return invalid(arguments,
                   fmt::format("unknown op {}; there are {}", arguments.op, names_of(reduce_ops)));
  }
  if (arguments.collective == Collective::broadcast &&
      (arguments.root < 0 || arguments.root >= size)) {
    return invalid(arguments, fmt::format("root {} is not a rank; there are ranks 0 to {}",
                                          arguments.root, size - 1));
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(arguments.part_count, size_of(static_cast<DataType>(arguments.type)),
                             &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<unsigned>(size), &bytes) || bytes > bytes_max) {
    return invalid(arguments, fmt::format("a count of {} elements is more than memory can hold",
                                          arguments.part_count));
  }
  return {};
}

/// Where `send` or `recv` must be when they share memory: the smaller one at this rank's place.
Status check_overlap(const Arguments& arguments, const Call& call, int rank, int size) {
  const Extent extent = extent_of(call, size);
  const auto send = reinterpret_cast<std::uintptr_t>(arguments.send);
  const auto recv = reinterpret_cast<std::uintptr_t>(arguments.recv);
  if (send + extent.input_bytes <= recv || recv + extent.output_bytes <= send) return {};
  const auto place = static_cast<std::uintptr_t>(rank);
  const bool in_place =
      call.collective == Collective::reduce_scatter ? recv == send + place * extent.output_bytes
      : call.collective == Collective::all_gather   ? send == recv + place * extent.input_bytes
                                                    : send == recv;
  if (in_place) return {};
  return invalid(
      arguments,
      fmt::format("send and recv overlap, {} bytes apart; give the same place ({}) or "
                  "buffers that don't overlap",
                  recv > send ? recv - send : send - recv,
                  call.collective == Collective::reduce_scatter ? "recv = send + rank * recv_count"
                  : call.collective == Collective::all_gather   ? "send = recv + rank * send_count"
                                                                : "send = recv"));
}

}  // namespace

Result<Call> check(const Arguments& arguments, int rank, int size) {
  Call call;
  call.collective = arguments.collective;
  if (call.collective == Collective::barrier) return call;
  if (Status status = check_numbers(arguments, size); !status) return status;
  call.type = static_cast<DataType>(arguments.type);
  if (reduces(call.collective)) call.op = static_cast<ReduceOp>(arguments.op);
  if (call.collective == Collective::broadcast) call.root = arguments.root;
  const bool parts =
      call.collective == Collective::reduce_scatter || call.collective == Collective::all_gather;
  call.count = arguments.part_count * (parts ? static_cast<std::size_t>(size) : 1);
  if (call.count == 0) return call;
  const bool sends = call.collective != Collective::broadcast || rank == call.root;
  if (sends && !arguments.send) return invalid(arguments, "send is null but count is not 0");
  if (!arguments.recv) return invalid(arguments, "recv is null but count is not 0");
  if (sends) {
    if (Status status = check_overlap(arguments, call, rank, size); !status) return status;
  }
  return call;
}

}  // namespace gyre::collectives
