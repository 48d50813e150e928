#include "bench/limits.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "bench/pinned_team.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gyre::bench {
namespace {

constexpr std::size_t line_floats = 16;

/// Sweeps over whole cache lines. 16-byte vectors are enough where memory is the limit.
template <int reads, int writes, bool streamed>
void sweep(float* const* buffers, std::size_t begin, std::size_t end) {
#if defined(__SSE2__)
  float* const a = buffers[0];
  float* const b = buffers[1];
  float* const c = buffers[2];
  float* const d = buffers[3];
  const auto store = [](float* to, __m128 v) {
    if constexpr (streamed) {
      _mm_stream_ps(to, v);
    } else {
      _mm_store_ps(to, v);
    }
  };
  for (std::size_t i = begin; i < end; i += line_floats) {
    for (std::size_t k = i; k < i + line_floats; k += 4) {
      __m128 v = _mm_set1_ps(1.0f);
      if constexpr (reads >= 1) v = _mm_load_ps(a + k);
      if constexpr (reads >= 2) v = _mm_add_ps(v, _mm_load_ps(b + k));
      store(c + k, v);
      if constexpr (writes >= 2) store(d + k, v);
    }
  }
  _mm_sfence();
#else
  for (std::size_t i = begin; i < end; ++i) {
    float v = 1.0f;
    if constexpr (reads >= 1) v = buffers[0][i];
    if constexpr (reads >= 2) v += buffers[1][i];
    buffers[2][i] = v;
    if constexpr (writes >= 2) buffers[3][i] = v;
  }
#endif
}

void libc_copy(float* const* buffers, std::size_t begin, std::size_t end) {
  std::memcpy(buffers[2] + begin, buffers[0] + begin, (end - begin) * sizeof(float));
}

void libc_fill(float* const* buffers, std::size_t begin, std::size_t end) {
  std::memset(buffers[2] + begin, 0, (end - begin) * sizeof(float));
}

struct Loop {
  const char* name;
  bool streamed;
  int accesses;  // per element
  void (*run)(float* const* buffers, std::size_t begin, std::size_t end);
};

constexpr Loop loops[] = {
    {"copy", false, 2, sweep<1, 1, false>}, {"fill", false, 1, sweep<0, 1, false>},
    {"add", false, 3, sweep<2, 1, false>},  {"double", false, 4, sweep<2, 2, false>},
    {"memcpy", false, 2, libc_copy},        {"memset", false, 1, libc_fill},
#if defined(__SSE2__)
    {"copy", true, 2, sweep<1, 1, true>},   {"fill", true, 1, sweep<0, 1, true>},
    {"add", true, 3, sweep<2, 1, true>},    {"double", true, 4, sweep<2, 2, true>},
#endif
};

/// Anonymous memory in huge pages where the kernel has them: a limit should not be one of the TLB.
class Mapping {
 public:
  explicit Mapping(std::size_t bytes)
      : data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        bytes_(bytes) {
    if (data_ != MAP_FAILED) ::madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  ~Mapping() {
    if (data_ != MAP_FAILED) ::munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  float* data() const { return data_ == MAP_FAILED ? nullptr : static_cast<float*>(data_); }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace

Result<MemoryLimit> measure_memory_limit(std::span<const int> cpus, std::size_t buffer_bytes,
                                         std::size_t rounds) {
  if (cpus.empty() || rounds == 0) return Status(Code::invalid_argument, "nothing to measure with");
  const std::size_t lines = buffer_bytes / (line_floats * sizeof(float)) / cpus.size();
  const std::size_t floats = lines * line_floats;  // of one thread
  MemoryLimit limit;
  limit.buffer_bytes = floats * cpus.size() * sizeof(float);
  if (lines == 0) return Status(Code::invalid_argument, "less than a cache line per CPU");
  const Mapping mappings[4] = {Mapping(limit.buffer_bytes), Mapping(limit.buffer_bytes),
                               Mapping(limit.buffer_bytes), Mapping(limit.buffer_bytes)};
  float* buffers[4];
  for (int i = 0; i < 4; ++i) {
    buffers[i] = mappings[i].data();
    if (!buffers[i])
      return Status(Code::out_of_resources,
                    "no memory for the memory limit: 4 x " + std::to_string(limit.buffer_bytes) +
                        " bytes are needed; allow fewer CPUs or more memory");
  }
  // Each thread touches its part first, so that it lies at its own memory controller.
  const auto touched = run_pinned(cpus, 1, [&](std::size_t thread, std::size_t) {
    for (float* buffer : buffers) std::memset(buffer + thread * floats, 0, floats * sizeof(float));
  });
  if (!touched.ok()) return touched.status();
  for (const Loop& loop : loops) {
    const auto times = run_pinned(cpus, rounds, [&](std::size_t thread, std::size_t) {
      loop.run(buffers, thread * floats, (thread + 1) * floats);
    });
    if (!times.ok()) return times.status();
    double seconds = (*times)[0].seconds;
    for (const RoundTimes& round : *times) seconds = std::min(seconds, round.seconds);
    const double bytes = static_cast<double>(limit.buffer_bytes) * loop.accesses;
    limit.rates.push_back({loop.name, loop.streamed, bytes / seconds / 1e9});
    if (limit.rates.back().gb_per_s > limit.best.gb_per_s) limit.best = limit.rates.back();
  }
  return limit;
}

}  // namespace gyre::bench
