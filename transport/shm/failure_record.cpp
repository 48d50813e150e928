#include "transport/shm/failure_record.hpp"

#include "base/types.hpp"

namespace gyre::transport::shm {
namespace {

constexpr int rank_shift = 8;
constexpr int reporter_shift = 32;
constexpr std::uint64_t code_mask = 0xff;
constexpr std::uint64_t rank_mask = 0xffffff;

std::uint64_t encode_rank(int rank) {
  return rank >= 0 && rank < ranks_max ? static_cast<std::uint64_t>(rank) + 1 : 0;
}

int decode_rank(std::uint64_t field, int limit) {
  return field >= 1 && field <= static_cast<std::uint64_t>(limit) ? static_cast<int>(field) - 1
                                                                  : -1;
}

bool is_reason(std::uint64_t code) {
  return code > static_cast<std::uint64_t>(Code::ok) &&
         code <= static_cast<std::uint64_t>(Code::internal);
}

}  // namespace

std::uint64_t pack_failure(Code code, int rank, int reporter) {
  auto number = static_cast<std::uint64_t>(code);
  if (!is_reason(number)) number = static_cast<std::uint64_t>(Code::internal);
  return number | encode_rank(rank) << rank_shift | encode_rank(reporter) << reporter_shift;
}

Failure unpack_failure(std::uint64_t packed, int ranks) {
  Failure failure;
  const std::uint64_t code = packed & code_mask;
  failure.code = is_reason(code) ? static_cast<Code>(code) : Code::internal;
  failure.rank = decode_rank(packed >> rank_shift & rank_mask, ranks_max);
  failure.reporter = decode_rank(packed >> reporter_shift & rank_mask, ranks);
  return failure;
}

}  // namespace gyre::transport::shm
