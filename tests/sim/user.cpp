#include "tests/sim/user.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "collectives/announcing.hpp"
#include "tests/collectives/reference.hpp"

namespace gyre::sim {
namespace {

using collectives::Progress;
using transport::SimStep;

constexpr std::size_t guard_bytes = 64;
constexpr std::byte guard{0x5c};
constexpr std::byte untouched{0xee};  // an output before the call
constexpr std::byte reused{0xdd};

double load(DataType type, const std::byte* at) {
  const auto get = [at](auto typed) {
    std::memcpy(&typed, at, sizeof typed);
    return static_cast<double>(typed);
  };
  return type == DataType::float32 ? get(float{}) : get(double{});
}

collectives::EngineOptions engine_options(const Scenario& scenario) {
  collectives::EngineOptions options;
  options.tuning = scenario.tuning;
  options.strict = scenario.strict;
  // Small enough that large operations take the streamed stores.
  options.last_level_cache_bytes = 4096;
  return options;
}

}  // namespace

CallBuffers::CallBuffers(const Scenario& scenario, std::size_t index, int rank,
                         transport::SimMemory& memory)
    : scenario_(scenario),
      shared_(scenario.calls[index]),
      call_(scenario.call_of(rank, index)),
      rough_(shared_.rough && call_ == shared_.call),
      index_(index),
      rank_(rank) {
  const int ranks = scenario.network.ranks;
  const auto extent = collectives::extent_of(call_, ranks);
  const bool in_place = shared_.in_place;
  const auto own = static_cast<std::size_t>(rank);
  const std::size_t shift = (index * 8 + own * 3 * (shared_.mappable[own] ? 8 : 1)) % guard_bytes;
  const std::size_t first = guard_bytes + shift;
  std::size_t input_at = first;
  output_bytes_ = extent.output_bytes;
  std::size_t end = first + std::max(extent.input_bytes, extent.output_bytes);
  if (in_place) {  // the smaller one lies at this rank's place in the larger one
    output_at_ = first + (extent.output_bytes < extent.input_bytes ? own * output_bytes_ : 0);
    if (extent.input_bytes < extent.output_bytes) input_at = first + own * extent.input_bytes;
  } else {
    output_at_ = first + extent.input_bytes + guard_bytes;
    end = output_at_ + output_bytes_;
  }
  const std::size_t bytes = end + guard_bytes;
  if (shared_.mappable[own]) {
    region_ = memory.allocate(rank, bytes);
  } else {
    own_.resize(bytes);
    region_ = own_;
  }
  std::fill(region_.begin(), region_.end(), guard);
  std::fill_n(region_.begin() + static_cast<std::ptrdiff_t>(output_at_), output_bytes_, untouched);
  const std::size_t width = size_of(call_.type);
  for (std::size_t i = 0; i < extent.input_bytes / width; ++i)
    test::store(call_.type, region_.data() + input_at + i * width, input_value(rank, i));
  before_.assign(region_.begin(), region_.end());

  buffers_.input = region_.data() + input_at;
  buffers_.output = region_.data() + output_at_;
  if (shared_.mappable[own]) {
    buffers_.input_ref = memory.find(rank, buffers_.input, extent.input_bytes);
    buffers_.output_ref = memory.find(rank, buffers_.output, extent.output_bytes);
  }
}

double CallBuffers::input_value(int rank, std::size_t element) const {
  const double value = test::value_at(rank, element, static_cast<int>(index_));
  return rough_ ? value * 0.37 : value;
}

std::string CallBuffers::check_result() const {
  const std::string complaint = rough_ ? check_rough() : check_exact();
  return complaint.empty() ? check_surroundings() : complaint;
}

std::string CallBuffers::check_exact() const {
  const int ranks = scenario_.network.ranks;
  const std::size_t width = size_of(call_.type);
  const std::size_t count = output_bytes_ / width;
  const std::size_t part = static_cast<std::size_t>(call_.count) / static_cast<std::size_t>(ranks);
  const int number = static_cast<int>(index_);
  std::vector<std::byte> expected(output_bytes_);
  for (std::size_t i = 0; i < count; ++i) {
    double value = 0;
    switch (call_.collective) {
      case Collective::all_reduce:
        value = test::reduced(call_.op, call_.type, ranks, i, number);
        break;
      case Collective::reduce_scatter:
        value = test::reduced(call_.op, call_.type, ranks,
                              static_cast<std::size_t>(rank_) * part + i, number);
        break;
      case Collective::all_gather: value = input_value(static_cast<int>(i / part), i % part); break;
      case Collective::broadcast: value = input_value(call_.root, i); break;
      case Collective::barrier: break;
    }
    test::store(call_.type, expected.data() + i * width, value);
  }
  return test::first_difference(call_.type, region_.data() + output_at_, expected.data(), count);
}

/// Within the bound that any order of N-1 rounded additions keeps.
std::string CallBuffers::check_rough() const {
  const int ranks = scenario_.network.ranks;
  const std::size_t width = size_of(call_.type);
  const bool scatters = call_.collective == Collective::reduce_scatter;
  const std::size_t skip = scatters ? static_cast<std::size_t>(rank_) * output_bytes_ / width : 0;
  const double unit = call_.type == DataType::float32 ? 0x1p-24 : 0x1p-53;
  for (std::size_t i = 0; i < output_bytes_ / width; ++i) {
    double truth = 0;
    for (int rank = 0; rank < ranks; ++rank) truth += input_value(rank, skip + i);
    if (call_.collective == Collective::broadcast) truth = input_value(call_.root, i);
    const double got = load(call_.type, region_.data() + output_at_ + i * width);
    if (std::abs(got - truth) <= 2 * ranks * unit * truth) continue;
    return fmt::format("element {} is {}, and not near {}", i, got, truth);
  }
  return "";
}

std::string CallBuffers::check_surroundings() const {
  for (std::size_t at = 0; at < region_.size(); ++at)
    if (!in_output(at) && region_[at] != before_[at])
      return fmt::format("byte {} was written, outside of the output at [{}, {}) of {}", at,
                         output_at_, output_at_ + output_bytes_, region_.size());
  return "";
}

void CallBuffers::reuse() { std::fill(region_.begin(), region_.end(), reused); }

std::string CallBuffers::check_reused() const {
  for (std::size_t at = 0; at < region_.size(); ++at)
    if (region_[at] != reused)
      return fmt::format("byte {} was written after call {} had ended", at, index_ + 1);
  return "";
}

std::vector<std::byte> CallBuffers::output() const {
  const auto begin = region_.begin() + static_cast<std::ptrdiff_t>(output_at_);
  return {begin, begin + static_cast<std::ptrdiff_t>(output_bytes_)};
}

// ---- The program --------------------------------------------------------------------------------

User::User(const Scenario& scenario, transport::SimNetwork& network, int rank)
    : scenario_(scenario),
      network_(network),
      rank_(rank),
      endpoint_(network.endpoint(rank)),
      communicator_(endpoint_, engine_options(scenario)),
      results_(scenario.calls.size()) {}

SimStep User::step(Nanoseconds now) {
  start_calls(now);
  const Progress progress = communicator_.progress();
  const std::size_t ended_before = ended_;
  end_calls(now);
  if (ended_ == results_.size()) return finish();
  if (progress == Progress::failed || (refused_ && !communicator_.current()))
    return fail_calls(now);
  if (progress == Progress::working || ended_ != ended_before) return go_on();
  if (communicator_.current()) return wait(now);
  return thinks_until_ > now ? SimStep::waiting(thinks_until_) : go_on();
}

/// There is more to do: what prepare_sleep began ends.
SimStep User::go_on() {
  if (prepared_) endpoint_.cancel_sleep();
  prepared_ = false;
  return SimStep::progressed();
}

SimStep User::finish() {
  (void)go_on();
  done_ = true;
  return SimStep::done();
}

void User::start_calls(Nanoseconds now) {
  while (started_ < results_.size() && started_ - ended_ < scenario_.in_flight) {
    const SharedCall& shared = scenario_.calls[started_];
    if (thinks_until_ == 0) thinks_until_ = now + shared.think_ns[static_cast<std::size_t>(rank_)];
    if (now < thinks_until_) return;
    buffers_.push_back(
        std::make_unique<CallBuffers>(scenario_, started_, rank_, network_.memory()));
    const auto started = communicator_.start(scenario_.call_of(rank_, started_),
                                             buffers_.back()->buffers(), scenario_.timeout_ns);
    if (!started.ok()) {  // the communicator has failed
      buffers_.pop_back();
      refused_ = true;
      return;
    }
    results_[started_].state = CallResult::State::running;
    thinks_until_ = 0;
    ++started_;
  }
}

void User::end_calls(Nanoseconds now) {
  while (ended_ < started_ && communicator_.finished(ended_ + 1)) {
    CallResult& result = results_[ended_];
    const auto* operation = communicator_.find(ended_ + 1);
    const auto* schedule = operation->choice.schedule;
    result.algorithm = schedule ? schedule->algorithm : "announcement";
    result.waits_from = operation->first_look_ns;
    result.state = CallResult::State::ok;
    ++result.ends;
    result.ended_at = now;
    CallBuffers& buffers = *buffers_[ended_];
    result.complaint = buffers.check_result();
    result.output = buffers.output();
    buffers.reuse();
    ++ended_;
  }
}

SimStep User::fail_calls(Nanoseconds now) {
  failure_ = endpoint_.failure();
  for (std::size_t i = ended_; i < started_; ++i) {
    CallResult& result = results_[i];
    result.state = CallResult::State::failed;
    ++result.ends;
    result.status = communicator_.failure();
    result.waits_from = communicator_.find(i + 1)->first_look_ns;
    result.ended_at = now;
    result.complaint = buffers_[i]->check_surroundings();
  }
  return finish();
}

/// As the driver does: look at the clock, fail what is over its deadline, and else sleep.
SimStep User::wait(Nanoseconds now) {
  collectives::Operation* operation = communicator_.current();
  if (operation->first_look_ns == 0) operation->first_look_ns = now;
  operation->last_look_ns = now;
  communicator_.note_progress();
  const Nanoseconds until = operation->first_look_ns + operation->timeout_ns;
  if (now >= until) {
    communicator_.expire(*operation);
    return SimStep::progressed();
  }
  const bool thinks = started_ < results_.size() && thinks_until_ > now;
  const Nanoseconds wake_at = thinks ? std::min(until, thinks_until_) : until;
  if (!scenario_.uses_doorbell) return SimStep::waiting(wake_at);
  if (!prepared_) {
    endpoint_.prepare_sleep();
    prepared_ = true;
    return SimStep::progressed();
  }
  prepared_ = false;
  endpoint_.sleep(wake_at - now);
  return SimStep::progressed();
}

std::string User::check_memory() const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const CallResult& result = results_[i];
    std::string complaint = result.complaint;
    if (complaint.empty())
      complaint = result.state == CallResult::State::ok ? buffers_[i]->check_reused()
                                                        : buffers_[i]->check_surroundings();
    if (!complaint.empty())
      return fmt::format("rank {}, call {} ({}): {}", rank_, i + 1, result.algorithm, complaint);
  }
  return "";
}

}  // namespace gyre::sim
