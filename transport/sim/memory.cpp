#include "transport/sim/memory.hpp"

#include <algorithm>

namespace gyre::transport {

std::span<std::byte> SimMemory::allocate(int rank, std::size_t bytes) {
  auto segment = std::find_if(segments_.begin(), segments_.end(), [&](const Segment& candidate) {
    return candidate.rank == rank && !candidate.blocks;
  });
  if (segment == segments_.end()) segment = segments_.insert(segments_.end(), Segment{});
  segment->rank = rank;
  segment->bytes = bytes;
  segment->blocks = std::make_unique<Block[]>(bytes / alignment_bytes + 1);
  return {segment->data(), bytes};
}

void SimMemory::free(int rank, const std::byte* data) {
  for (auto& segment : segments_) {
    if (segment.rank != rank || !segment.blocks || segment.data() != data) continue;
    segment.blocks.reset();
    ++segment.generation;
    return;
  }
}

MappedRef SimMemory::find(int rank, const std::byte* data, std::size_t bytes) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    if (segment.rank != rank || !segment.blocks || data < segment.data()) continue;
    const auto offset = static_cast<std::size_t>(data - segment.data());
    if (offset > segment.bytes || bytes > segment.bytes - offset) continue;
    return {static_cast<std::uint32_t>(i + 1), segment.generation, offset};
  }
  return {};
}

std::byte* SimMemory::resolve(int rank, const MappedRef& ref, std::size_t bytes) const {
  if (ref.segment == 0 || ref.segment > segments_.size()) return nullptr;
  const Segment& segment = segments_[ref.segment - 1];
  if (segment.rank != rank || !segment.blocks || segment.generation != ref.generation)
    return nullptr;
  if (ref.offset > segment.bytes || bytes > segment.bytes - ref.offset) return nullptr;
  return segment.data() + ref.offset;
}

}  // namespace gyre::transport
