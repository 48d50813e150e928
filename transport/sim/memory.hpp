// The mappable memory of all simulated ranks, with the checks a mapping makes: the segment exists,
// it is still the same one, and the range lies inside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/endpoint.hpp"

namespace gyre::transport {

class SimMemory {
 public:
  static constexpr std::size_t alignment_bytes = 64;

  /// A new segment of `rank`, zeroed.
  std::span<std::byte> allocate(int rank, std::size_t bytes);
  /// Frees the segment that begins at `data`; its number will name another segment later.
  void free(int rank, const std::byte* data);
  /// How others name [data, data + bytes) of `rank`; segment 0 where that is not mappable.
  MappedRef find(int rank, const std::byte* data, std::size_t bytes) const;
  /// What `ref` names in the memory of `rank`, or nullptr where it names nothing that exists.
  std::byte* resolve(int rank, const MappedRef& ref, std::size_t bytes) const;

 private:
  struct Block {
    alignas(alignment_bytes) std::byte bytes[alignment_bytes];
  };
  struct Segment {
    int rank = -1;
    std::uint32_t generation = 1;
    std::size_t bytes = 0;
    std::unique_ptr<Block[]> blocks;  ///< null while the number is free
    std::byte* data() const { return blocks ? blocks[0].bytes : nullptr; }
  };

  std::vector<Segment> segments_;  ///< number s names segments_[s - 1]
};

}  // namespace gyre::transport
