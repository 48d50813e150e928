// What an announcement's payload holds: where a rank's mappable buffers lie, or, when the whole
// contribution of every rank fits, the contribution itself.
#pragma once

#include <cstddef>

#include "collectives/operation.hpp"

namespace gyre::collectives {

/// Bytes of the buffers that a call uses on every rank.
struct Extent {
  std::size_t input_bytes = 0;
  std::size_t output_bytes = 0;
};
constexpr Extent extent_of(const Call& call, int size) {
  const std::size_t whole = call.count * size_of(call.type);
  const auto part = [&] { return whole / static_cast<std::size_t>(size); };  // a division is slow
  switch (call.collective) {
    case Collective::reduce_scatter: return {whole, part()};
    case Collective::all_gather: return {part(), whole};
    case Collective::barrier: return {};
    case Collective::all_reduce:
    case Collective::broadcast: return {whole, whole};
  }
  return {};
}

/// Bytes that one rank brings to a call.
constexpr std::size_t contribution_bytes(const Call& call, int size) {
  return extent_of(call, size).input_bytes;
}

/// Whether every rank's contribution fits into its announcement, so that no schedule is needed.
constexpr bool fits_announcement(const Call& call, int size) {
  return contribution_bytes(call, size) <= transport::Announcement::payload_bytes_max;
}

/// Of the payload that says where buffers lie.
inline constexpr std::size_t refs_bytes = 32;

void encode_refs(const Buffers& buffers, transport::Announcement& announcement);
void decode_refs(const transport::Announcement& announcement, transport::MappedRef& input,
                 transport::MappedRef& output);

}  // namespace gyre::collectives
