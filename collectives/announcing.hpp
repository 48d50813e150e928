// What an announcement's 40 payload bytes hold: where a rank's mappable buffers lie, or, when the
// whole contribution of every rank fits, the contribution itself.
#pragma once

#include <cstddef>

#include "collectives/operation.hpp"

namespace gyre::collectives {

/// Bytes of the buffers that a call uses on every rank.
struct Extent {
  std::size_t input_bytes = 0;
  std::size_t output_bytes = 0;
};
Extent extent_of(const Call& call, int size);

/// Whether every rank's contribution fits into its announcement, so that no schedule is needed.
bool fits_announcement(const Call& call, int size);

/// Bytes of one rank's contribution as fits_announcement counts it.
std::size_t contribution_bytes(const Call& call, int size);

void encode_refs(const Buffers& buffers, transport::Announcement& announcement);
void decode_refs(const transport::Announcement& announcement, transport::MappedRef& input,
                 transport::MappedRef& output);

}  // namespace gyre::collectives
