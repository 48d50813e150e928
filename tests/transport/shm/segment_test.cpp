// The segment: its layout's bounds, what an attaching rank refuses, and what it leaves behind.
#include "transport/shm/segment.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>

#include "tests/transport/shm/world.hpp"

namespace gyre::transport::shm::test {
namespace {

constexpr SlotShape small_shape{64, 2};

std::size_t open_descriptors() {
  DIR* directory = opendir("/proc/self/fd");
  std::size_t count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

Code attach_code(int fd, const SegmentLayout& layout, FenceMode mode = register_fences()) {
  Result<std::shared_ptr<Segment>> segment = Segment::attach(fd, layout, mode);
  return segment.status().code();
}

/// As somebody else might have made it.
UniqueFd foreign_file(std::size_t bytes, int seals) {
  UniqueFd fd(memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  if (seals != 0) REQUIRE(fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}

}  // namespace

TEST_CASE("a layout outside its bounds is refused in words") {
  const auto refused = [](int ranks, SlotShape pair, SlotShape cast, std::string_view word) {
    const Result<SegmentLayout> layout = SegmentLayout::make(ranks, pair, cast);
    REQUIRE_FALSE(layout);
    CHECK(layout.status().code() == Code::invalid_argument);
    CHECK(layout.status().message().find(word) != std::string::npos);
  };
  refused(0, small_shape, small_shape, "1 to 256");
  refused(257, small_shape, small_shape, "1 to 256");
  refused(2, {64, 0}, small_shape, "slots");
  refused(2, {64, slots_max + 1}, {64, slots_max + 1}, "slots");
  refused(2, {0, 2}, small_shape, "multiple of 64");
  refused(2, {65, 2}, small_shape, "multiple of 64");
  refused(2, {slot_bytes_max + 64, 2}, small_shape, "multiple of 64");
  refused(2, {128, 2}, small_shape, "cast link");
  refused(2, {64, 3}, small_shape, "cast link");
  refused(256, {slot_bytes_max, slots_max}, {slot_bytes_max, slots_max}, "GiB");
}

TEST_CASE("no two things in a segment overlap, and each is on its own cache lines") {
  for (int ranks : {1, 2, 3, 8, 256}) {
    const SegmentLayout layout = layout_of(ranks, default_shape(ranks));
    const auto n = static_cast<std::size_t>(ranks);
    const std::map<std::size_t, std::size_t> bytes_at = {
        {0, sizeof(SegmentHeader)},
        {layout.sleepers, 64},
        {layout.failure, 64},
        {layout.details, n * 64},
        {layout.bells, n * 64},
        {layout.left, n * 64},
        {layout.departed, n * 64},
        {layout.notes, n * 64},
        {layout.rings, n * 64 * 16},
        {layout.published, n * n * 64},
        {layout.consumed, n * n * 64},
        {layout.cast_published, n * 64},
        {layout.cast_consumed, n * n * 64},
        {layout.pair_slots, n * n * SegmentLayout::bytes_of(layout.pair)},
        {layout.cast_slots, n * SegmentLayout::bytes_of(layout.cast)},
    };
    CHECK(bytes_at.size() == 15);
    std::size_t end = 0;
    for (const auto& [offset, bytes] : bytes_at) {
      CHECK(offset % cache_line_bytes == 0);
      CHECK(offset >= end);
      end = offset + bytes;
    }
    CHECK(layout.total_bytes >= end);
    CHECK(layout.total_bytes % segment_granule_bytes == 0);
  }
}

TEST_CASE("memory per rank stays bounded however many ranks share a host") {
  for (int ranks = 1; ranks <= ranks_per_host_max; ++ranks) {
    const SlotShape shape = default_shape(ranks);
    CHECK(shape.slots == 8);
    CHECK(shape.slot_bytes >= 2048);
    const SegmentLayout layout = layout_of(ranks, shape);
    CHECK(layout.total_bytes / static_cast<std::size_t>(ranks) <= std::size_t{6} << 20);
  }
  CHECK(default_shape(8).slot_bytes == 16384);
}

TEST_CASE("only touched slots take memory") {
  const SegmentLayout layout = layout_of(8, default_shape(8));
  const std::shared_ptr<Segment> segment = make_segment(8, default_shape(8));
  if (segment->note().starts_with("2 MiB")) SKIP("huge pages are taken whole");
  std::vector<unsigned char> resident(layout.total_bytes / 4096);
  std::byte* base = reinterpret_cast<std::byte*>(&segment->sleepers()) - layout.sleepers;
  REQUIRE(mincore(base, layout.total_bytes, resident.data()) == 0);
  const auto pages = std::count_if(resident.begin(), resident.end(), [](int p) { return p & 1; });
  CHECK(static_cast<std::size_t>(pages) * 4096 <= layout.control_bytes + 4096);
}

TEST_CASE("a segment can be attached by its descriptor, and leaves nothing behind") {
  const std::size_t before = open_descriptors();
  {
    const SegmentLayout layout = layout_of(3, small_shape);
    const std::shared_ptr<Segment> segment = make_segment(3, small_shape);
    CHECK(segment->note().find("pages") != std::string::npos);
    Result<std::shared_ptr<Segment>> other =
        Segment::attach(segment->fd(), layout, register_fences());
    REQUIRE(other);
    CHECK((*other)->fd() == -1);
    segment->left(2).set(41);
    CHECK((*other)->left(2).get() == 41);
    CHECK(fcntl(segment->fd(), F_GETFD) == FD_CLOEXEC);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("shared memory that could change its size, or has another, is refused") {
  const SegmentLayout layout = layout_of(2, small_shape);
  constexpr int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  CHECK(attach_code(foreign_file(layout.total_bytes, 0).get(), layout) == Code::refused);
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL})
    CHECK(attach_code(foreign_file(layout.total_bytes, all & ~missing).get(), layout) ==
          Code::refused);
  CHECK(attach_code(foreign_file(layout.total_bytes / 2, all).get(), layout) == Code::mismatch);
  CHECK(attach_code(foreign_file(layout.total_bytes * 2, all).get(), layout) == Code::mismatch);
  CHECK(attach_code(foreign_file(layout.total_bytes, all).get(), layout) == Code::mismatch);
  CHECK(attach_code(-1, layout) == Code::system);
  UniqueFd not_memory(open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK_FALSE(Segment::attach(not_memory.get(), layout, register_fences()));
}

TEST_CASE("a segment made for other settings is refused") {
  const std::shared_ptr<Segment> segment = make_segment(2, small_shape);
  CHECK(attach_code(segment->fd(), layout_of(3, small_shape)) == Code::mismatch);
  CHECK(attach_code(segment->fd(), layout_of(2, {128, 2})) == Code::mismatch);
  CHECK(attach_code(segment->fd(), layout_of(2, {64, 1})) == Code::mismatch);
  const FenceMode other =
      segment->fence_mode() == FenceMode::symmetric ? FenceMode::asymmetric : FenceMode::symmetric;
  CHECK(attach_code(segment->fd(), segment->layout(), other) == Code::unsupported);
  CHECK(attach_code(segment->fd(), segment->layout()) == Code::ok);
}

TEST_CASE("an endpoint exists only for a rank of the segment") {
  const std::shared_ptr<Segment> segment = make_segment(2, small_shape);
  CHECK_FALSE(ShmEndpoint::create(segment, -1, nullptr));
  CHECK_FALSE(ShmEndpoint::create(segment, 2, nullptr));
  CHECK_FALSE(ShmEndpoint::create(nullptr, 0, nullptr));
}

TEST_CASE("peers' memory is mapped by the importer, and refused without one") {
  struct Importer : MemoryImporter {
    Mapping map(int peer, const MappedRef& ref, std::size_t bytes) override {
      if (bytes > sizeof memory - ref.offset) return {};
      asked = peer;
      return {Mapping::State::ready, memory + ref.offset};
    }
    std::byte memory[64] = {};
    int asked = -1;
  } importer;
  const std::shared_ptr<Segment> segment = make_segment(2, small_shape);
  const auto with = make_endpoint(segment, 0, &importer);
  const auto without = make_endpoint(segment, 1);
  CHECK(with->maps_memory());
  CHECK_FALSE(without->maps_memory());
  CHECK(with->map(1, {3, 1, 16}, 8).data == importer.memory + 16);
  CHECK(importer.asked == 1);
  CHECK(with->map(1, {3, 1, 60}, 8).state == Mapping::State::refused);
  CHECK(with->map(1, {0, 0, 0}, 8).state == Mapping::State::refused);
  CHECK(without->map(0, {3, 1, 0}, 8).state == Mapping::State::refused);
}

TEST_CASE("huge pages are read from the entry of the right mapping in smaps") {
  const std::string_view smaps =
      "7f0000000000-7f0000400000 rw-s 00000000 00:01 7 /memfd:gyre (deleted)\n"
      "Rss:                2048 kB\n"
      "ShmemPmdMapped:     2048 kB\n"
      "VmFlags: rd wr\n"
      "7f0000400000-7f0000600000 rw-s 00000000 00:01 8 /memfd:gyre (deleted)\n"
      "ShmemPmdMapped:        0 kB\n"
      "VmFlags: rd wr\n";
  CHECK(huge_bytes_of(smaps, 0x7f0000000000) == 2048 * 1024);
  CHECK(huge_bytes_of(smaps, 0x7f0000400000) == 0);
  CHECK(huge_bytes_of(smaps, 0x7f0000200000) == 0);
  CHECK(huge_bytes_of("", 0) == 0);
}

}  // namespace gyre::transport::shm::test
