// Copies. The C library's memcpy is as fast as the CPU into the caches; past the caches is ours.
#include "kernels/host/targets.hpp"

#include "kernels/kernels.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/host/operands.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/copy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/host/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gyre::kernels::host::HWY_NAMESPACE {

/// Copies whole blocks of four vectors and returns how many bytes that was. `to` is aligned.
std::size_t stream_blocks_here(std::byte* to, const std::byte* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t vector = hn::Lanes(d);
  std::size_t done = 0;
  for (; bytes - done >= 4 * vector; done += 4 * vector) {
    const auto v0 = load_lanes(d, from + done);
    const auto v1 = load_lanes(d, from + done + vector);
    const auto v2 = load_lanes(d, from + done + 2 * vector);
    const auto v3 = load_lanes(d, from + done + 3 * vector);
    stream_lanes(d, v0, to + done);
    stream_lanes(d, v1, to + done + vector);
    stream_lanes(d, v2, to + done + 2 * vector);
    stream_lanes(d, v3, to + done + 3 * vector);
  }
  return done;
}

const char* target_name_here() { return hwy::TargetName(HWY_TARGET); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gyre::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::kernels {
namespace host {
namespace {

HWY_EXPORT(stream_blocks_here);
HWY_EXPORT(target_name_here);

/// With several destinations a piece of the source is read once and stored from the first-level
/// cache, where it takes half the room.
constexpr std::size_t piece_bytes = 16 * 1024;

void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(to) % stream_alignment_bytes;
  const std::size_t head =
      std::min(bytes, (stream_alignment_bytes - beyond) % stream_alignment_bytes);
  std::memcpy(to, from, head);
  const std::size_t done =
      head + HWY_DYNAMIC_DISPATCH(stream_blocks_here)(to + head, from + head, bytes - head);
  std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace
}  // namespace host

void copy(std::span<std::byte* const> destinations, const std::byte* source, std::size_t bytes,
          Store store) {
  if (bytes == 0) return;
  const bool streamed = store == Store::streamed;
  const std::size_t step = destinations.size() == 1 ? bytes : host::piece_bytes;
  for (std::size_t begin = 0; begin < bytes; begin += step) {
    const std::size_t piece = std::min(step, bytes - begin);
    for (std::byte* destination : destinations) {
      if (destination == source) continue;
      if (streamed) {
        host::stream(destination + begin, source + begin, piece);
      } else {
        std::memcpy(destination + begin, source + begin, piece);
      }
    }
  }
  // Streamed stores are not ordered by a release store; this makes them so.
  if (streamed) hwy::FlushStream();
}

const char* target_name() { return HWY_DYNAMIC_DISPATCH(host::target_name_here)(); }

}  // namespace gyre::kernels
#endif  // HWY_ONCE
