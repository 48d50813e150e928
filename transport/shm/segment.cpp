#include "transport/shm/segment.hpp"

#include <cstring>
#include <utility>

namespace gyre::transport::shm {
namespace {

SegmentHeader header_of(const SegmentLayout& layout, FenceMode mode) {
  SegmentHeader header;
  header.ranks = static_cast<std::uint64_t>(layout.ranks);
  header.slots = static_cast<std::uint64_t>(layout.pair.slots);
  header.slot_bytes = layout.pair.slot_bytes;
  header.cast_slots = static_cast<std::uint64_t>(layout.cast.slots);
  header.cast_slot_bytes = layout.cast.slot_bytes;
  header.fence_mode = static_cast<std::uint64_t>(mode);
  return header;
}

}  // namespace

Result<std::shared_ptr<Segment>> Segment::create(const SegmentLayout& layout, FenceMode mode) {
  Result<MemoryFile> file = make_memory_file(layout.total_bytes, layout.control_bytes);
  if (!file) return file.status();
  const SegmentHeader header = header_of(layout, mode);
  std::memcpy(file->mapping.data(), &header, sizeof header);
  return std::shared_ptr<Segment>(new Segment(layout, mode, std::move(*file)));
}

Result<std::shared_ptr<Segment>> Segment::attach(int fd, const SegmentLayout& expected,
                                                 FenceMode mode) {
  if (Status status = check_memory_file(fd, expected.total_bytes); !status) return status;
  Result<SharedMapping> mapping = SharedMapping::of(fd, expected.total_bytes);
  if (!mapping) return mapping.status();
  SegmentHeader found;
  std::memcpy(&found, mapping->data(), sizeof found);
  if (found.magic != SegmentHeader::magic_value || found.version != SegmentHeader::version_value)
    return Status(Code::mismatch,
                  "shared memory from a peer has another format; do all ranks run the same gyre?");
  const SegmentHeader wanted = header_of(expected, mode);
  if (found.fence_mode != wanted.fence_mode) {
    found.fence_mode = wanted.fence_mode;
    if (found == wanted)
      return Status(Code::unsupported,
                    "some ranks of this host may call membarrier(2) and some may not (a seccomp "
                    "filter, or a ThreadSanitizer build); give all of them the same");
  }
  if (found != wanted)
    return Status(
        Code::mismatch,
        "shared memory from a peer is laid out for another number of ranks or other slots; "
        "do all ranks have the same settings?");
  MemoryFile file;
  file.mapping = std::move(*mapping);
  return std::shared_ptr<Segment>(new Segment(expected, mode, std::move(file)));
}

}  // namespace gyre::transport::shm
