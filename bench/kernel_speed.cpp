#include "bench/kernel_speed.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/pinned_team.hpp"

namespace gyre::bench {
namespace {

constexpr std::size_t turns = 5;
/// Moved per thread and turn: long beside the threads' uneven start, short enough for a table.
constexpr std::size_t turn_bytes = 64 << 20;
/// Buffers begin at different places within a page, so that none waits for another because the CPU
/// compares only the lower bits of addresses.
constexpr std::size_t stagger_bytes = 5 * 64;
constexpr std::size_t page_bytes = 4096;

/// One thread's buffers.
class Operands {
 public:
  Operands(const KernelShape& shape, std::size_t bytes) : shape_(shape) {
    const std::size_t buffers = shape.sources + shape.destinations;
    bytes_ = std::max<std::size_t>(bytes / buffers / 64 * 64, 64);
    const std::size_t stride = (bytes_ + page_bytes - 1) / page_bytes * page_bytes + stagger_bytes;
    memory_ = std::make_unique<std::byte[]>(stride * buffers + page_bytes);  // zeroed: touched
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    std::byte* next = memory_.get() + (page_bytes - address % page_bytes) % page_bytes;
    for (std::size_t i = 0; i < buffers; ++i, next += stride) {
      if (i < shape.sources) {
        sources_.push_back(next);
      } else {
        destinations_.push_back(next);
      }
    }
    reads_.assign(sources_.begin(), sources_.end());
  }

  std::size_t bytes_per_pass() const { return bytes_ * (sources_.size() + destinations_.size()); }

  void pass() {
    if (sources_.size() == 1) {
      kernels::copy(destinations_, sources_[0], bytes_, shape_.store);
    } else {
      kernels::reduce(shape_.type, shape_.op,
                      {reads_, destinations_, bytes_ / size_of(shape_.type), shape_.store,
                       shape_.op == ReduceOp::avg, static_cast<std::uint32_t>(reads_.size())});
    }
  }

  void write_sources(int value) {
    for (std::byte* source : sources_) std::memset(source, value & 1, bytes_);
  }

  std::uint64_t read_destinations() const {
    std::uint64_t sum = 0;
    for (const std::byte* destination : destinations_) {
      for (std::size_t i = 0; i < bytes_; i += sizeof(std::uint64_t)) {
        std::uint64_t word;
        std::memcpy(&word, destination + i, sizeof word);
        sum += word;
      }
    }
    return sum;
  }

 private:
  KernelShape shape_;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::byte*> sources_;
  std::vector<const std::byte*> reads_;  // the same, as passes take them
  std::vector<std::byte*> destinations_;
};

}  // namespace

Result<KernelSpeed> measure_kernel(const KernelShape& shape, std::size_t bytes,
                                   std::span<const int> cpus, Between between) {
  std::vector<std::unique_ptr<Operands>> operands(cpus.size());
  std::vector<std::uint64_t> sums(cpus.size());
  std::vector<std::size_t> passes(cpus.size());
  // Round 0 allocates, touches and warms up.
  const auto times = run_pinned(cpus, turns + 1, [&](std::size_t thread, std::size_t round) {
    if (round == 0) {
      operands[thread] = std::make_unique<Operands>(shape, bytes / cpus.size());
      passes[thread] = std::max<std::size_t>(1, turn_bytes / operands[thread]->bytes_per_pass());
    }
    Operands& mine = *operands[thread];
    const std::size_t repeats = round == 0 ? 1 : passes[thread];
    for (std::size_t i = 0; i < repeats; ++i) {
      if (between == Between::write_and_read) mine.write_sources(static_cast<int>(i));
      mine.pass();
      if (between == Between::write_and_read) sums[thread] += mine.read_destinations();
    }
  });
  if (!times.ok()) return times.status();
  std::vector<double> seconds;
  for (std::size_t turn = 1; turn <= turns; ++turn)
    seconds.push_back((*times)[turn].slowest_seconds);
  std::nth_element(seconds.begin(), seconds.begin() + turns / 2, seconds.end());
  KernelSpeed speed;
  speed.seconds_per_pass = seconds[turns / 2] / static_cast<double>(passes[0]);
  speed.gb_per_s = static_cast<double>(operands[0]->bytes_per_pass() * cpus.size()) /
                   speed.seconds_per_pass / 1e9;
  return speed;
}

}  // namespace gyre::bench
