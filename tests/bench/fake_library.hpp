// A library for the tests: ranks are threads, a collective is computed from everybody's buffers
// between two barriers. It can be told to misbehave, to show that the bench notices.
#pragma once

#include <barrier>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/pattern.hpp"
#include "bench/protocol.hpp"

namespace gyre::bench::test {

enum class Fault { none, stale, late, swapped, dropped, error };

struct World {
  explicit World(int ranks) : size(ranks), meeting(ranks), send(static_cast<unsigned>(ranks)) {}
  int size;
  std::barrier<> meeting;
  std::vector<const void*> send;
  Fault fault = Fault::none;
};

class FakeLibrary {
 public:
  FakeLibrary(World& world, int rank) : world_(world), rank_(rank) {}

  int rank() const { return rank_; }
  int size() const { return world_.size; }
  std::string name() const { return "fake"; }
  std::string version() const { return "1"; }
  std::string error() const { return "the fake failed"; }
  std::string algorithm() const { return "direct"; }
  std::uint64_t bytes_sent() const { return calls_ * 10; }
  void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  void release(void* data, std::size_t) { std::free(data); }
  void* result(const Operation&, void*, void* receive, int) const { return receive; }

  std::string prepare(const Operation& operation, void*, void*) {
    operation_ = operation;
    return operation.nonblocking ? "unsupported: no handles here" : "";
  }

  bool barrier() {
    world_.meeting.arrive_and_wait();
    return true;
  }

  bool run(void* send, void* receive, int root) {
    ++calls_;
    if (world_.fault == Fault::error) return false;
    world_.send[static_cast<unsigned>(rank_)] = send;
    barrier();
    const std::vector<double> result = compute(root);
    barrier();
    // The rank at fault is the last: it keeps its first answer, or gives that of the call before.
    const bool faulty = rank_ == world_.size - 1;
    if (!(faulty && world_.fault == Fault::stale && calls_ > 1)) {
      const bool late = faulty && world_.fault == Fault::late && !last_.empty();
      const std::vector<double>& answer = late ? last_ : result;
      for (std::uint64_t i = 0; i < answer.size(); ++i)
        store_element(operation_.dtype, receive, i, answer[i]);
    }
    last_ = result;
    return true;
  }

 private:
  double input(int rank, std::uint64_t index) const {
    return load_element(operation_.dtype, world_.send[static_cast<unsigned>(rank)], index);
  }

  double reduce(std::uint64_t index) const {
    double value = 0;
    const int begin = world_.fault == Fault::dropped ? 1 : 0;
    for (int r = begin; r < size(); ++r) {
      const double next = input(r, index);
      if (r == begin)
        value = next;
      else if (operation_.op == ReduceOp::min)
        value = std::min(value, next);
      else if (operation_.op == ReduceOp::max)
        value = std::max(value, next);
      else
        value += next;
    }
    if (operation_.op == ReduceOp::avg) value /= size();
    return value;
  }

  std::vector<double> compute(int root) const {
    const std::uint64_t count = operation_.count;
    std::vector<double> result(receive_count(operation_, size()));
    for (std::uint64_t i = 0; i < result.size(); ++i) {
      int from = static_cast<int>(i / std::max<std::uint64_t>(count, 1));
      if (world_.fault == Fault::swapped) from = size() - 1 - from;
      switch (operation_.collective) {
        case Collective::all_reduce: result[i] = reduce(i); break;
        case Collective::reduce_scatter:
          result[i] = reduce(static_cast<unsigned>(rank_) * count + i);
          break;
        case Collective::all_gather: result[i] = input(from, i % count); break;
        case Collective::broadcast:
          result[i] = input(world_.fault == Fault::swapped ? (root + 1) % size() : root, i);
          break;
        case Collective::barrier: break;
      }
    }
    return result;
  }

  World& world_;
  int rank_;
  Operation operation_;
  std::vector<double> last_;
  std::uint64_t calls_ = 0;
};

}  // namespace gyre::bench::test
