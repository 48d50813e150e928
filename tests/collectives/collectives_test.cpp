// Every collective through the C API, on threads and on processes, against plain arithmetic.
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/collectives/ranks.hpp"
#include "tests/collectives/reference.hpp"

namespace gyre::test {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr std::byte guard_value{0xa5};

/// One call to make and to check.
struct Case {
  Collective collective = Collective::all_reduce;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  std::size_t part = 0;  ///< the API's count
  bool in_place = false;
  bool mappable = false;
  int root = 0;

  std::string text() const {
    return fmt::format("{} of {} {} {}{}{} root {}", name_of(collective), part, name_of(type),
                       name_of(op), in_place ? " in place" : "", mappable ? " mappable" : "", root);
  }
};

/// A buffer with guards on both sides, plain or mappable.
class Buffer {
 public:
  Buffer(const Rank& rank, std::size_t bytes, bool mappable)
      : context_(rank.context), bytes_(bytes) {
    const std::size_t whole = bytes + 2 * guard_bytes;
    if (mappable) {
      void* data = nullptr;
      if (gyre_allocate(context_, whole, &data) == GYRE_OK) mapped_ = static_cast<std::byte*>(data);
      base_ = mapped_;
    } else {
      plain_.resize(whole);
      base_ = plain_.data();
    }
    if (base_) std::fill(base_, base_ + whole, guard_value);
  }
  ~Buffer() { gyre_free(context_, mapped_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool ok() const { return base_ != nullptr; }
  std::byte* data() { return base_ + guard_bytes; }
  bool guards_whole() const {
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      if (base_[i] != guard_value || base_[guard_bytes + bytes_ + i] != guard_value) return false;
    }
    return true;
  }

 private:
  gyre_context_t context_;
  std::size_t bytes_;
  std::byte* mapped_ = nullptr;
  std::byte* base_ = nullptr;
  std::vector<std::byte> plain_;
};

gyre_status call(const Rank& rank, const Case& c, std::byte* send, std::byte* recv) {
  const gyre_buffer from{send, GYRE_MEMORY_AUTO};
  const gyre_buffer to{recv, GYRE_MEMORY_HOST};
  const auto type = static_cast<gyre_dtype>(c.type);
  const auto op = static_cast<gyre_op>(c.op);
  switch (c.collective) {
    case Collective::all_reduce:
      return gyre_all_reduce(rank.comm, from, to, c.part, type, op, nullptr, nullptr, nullptr);
    case Collective::reduce_scatter:
      return gyre_reduce_scatter(rank.comm, from, to, c.part, type, op, nullptr, nullptr, nullptr);
    case Collective::all_gather:
      return gyre_all_gather(rank.comm, from, to, c.part, type, nullptr, nullptr, nullptr);
    case Collective::broadcast:
      return gyre_broadcast(rank.comm, from, to, c.part, type, c.root, nullptr, nullptr, nullptr);
    case Collective::barrier: return gyre_barrier(rank.comm, nullptr, nullptr, nullptr);
  }
  return GYRE_INTERNAL;
}

/// What the output must hold, as bytes.
std::vector<std::byte> expected(const Rank& rank, const Case& c, int number) {
  const std::size_t bytes = size_of(c.type);
  const bool gathers = c.collective == Collective::all_gather;
  const std::size_t count = c.part * (gathers ? static_cast<std::size_t>(rank.size) : 1);
  std::vector<std::byte> result(count * bytes);
  for (std::size_t i = 0; i < count; ++i) {
    double value = 0;
    switch (c.collective) {
      case Collective::all_reduce: value = reduced(c.op, c.type, rank.size, i, number); break;
      case Collective::reduce_scatter:
        value = reduced(c.op, c.type, rank.size, static_cast<std::size_t>(rank.rank) * c.part + i,
                        number);
        break;
      case Collective::all_gather:
        value = value_at(static_cast<int>(i / c.part), i % c.part, number);
        break;
      case Collective::broadcast: value = value_at(c.root, i, number); break;
      case Collective::barrier: break;
    }
    store(c.type, &result[i * bytes], value);
  }
  return result;
}

std::string run(const Rank& rank, const Case& c, int number) {
  const std::size_t bytes = size_of(c.type);
  const auto ranks = static_cast<std::size_t>(rank.size);
  const bool scatters = c.collective == Collective::reduce_scatter;
  const bool gathers = c.collective == Collective::all_gather;
  const std::size_t in_count = c.part * (scatters ? ranks : 1);
  const std::size_t out_count = c.part * (gathers ? ranks : 1);
  Buffer whole(rank, std::max(in_count, out_count) * bytes, c.mappable);
  Buffer apart(rank, out_count * bytes, c.mappable);
  if (!whole.ok() || !apart.ok()) return complain("gyre_allocate", GYRE_OUT_OF_RESOURCES);
  const std::size_t place = static_cast<std::size_t>(rank.rank) * c.part * bytes;
  std::byte* send = whole.data() + (c.in_place && gathers ? place : 0);
  std::byte* recv = !c.in_place ? apart.data() : scatters ? whole.data() + place : whole.data();
  for (std::size_t i = 0; i < in_count; ++i)
    store(c.type, send + i * bytes, value_at(rank.rank, i, number));
  if (const gyre_status status = call(rank, c, send, recv); status != GYRE_OK)
    return complain(c.text().c_str(), status);
  const auto want = expected(rank, c, number);
  if (auto wrong = first_difference(c.type, recv, want.data(), out_count); !wrong.empty())
    return c.text() + ": " + wrong;
  if (!whole.guards_whole() || !apart.guards_whole()) return c.text() + ": wrote outside";
  if (!c.in_place) {
    for (std::size_t i = 0; i < in_count; ++i) {
      std::byte original[8];
      store(c.type, original, value_at(rank.rank, i, number));
      if (std::memcmp(original, send + i * bytes, bytes) != 0)
        return c.text() + ": changed its input";
    }
  }
  return "";
}

constexpr Collective all_collectives[] = {Collective::all_reduce, Collective::reduce_scatter,
                                          Collective::all_gather, Collective::broadcast};

bool is_exact(const Case& c, int size) {
  return c.op != ReduceOp::avg || find(c.type)->integer || (size & (size - 1)) == 0;
}

/// Every collective, in and out of place, plain and mappable, at these counts.
std::string run_shapes(const Rank& rank, const std::vector<std::size_t>& counts) {
  int number = 0;
  for (const Collective collective : all_collectives) {
    for (const std::size_t part : counts) {
      for (const int shape : {0, 1, 2, 3}) {
        Case c;
        c.collective = collective;
        c.part = part;
        c.in_place = shape % 2 == 1;
        c.mappable = shape / 2 == 1;
        c.root = number % rank.size;
        if (auto complaint = run(rank, c, number++); !complaint.empty()) return complaint;
      }
    }
  }
  return complain("gyre_barrier", gyre_barrier(rank.comm, nullptr, nullptr, nullptr));
}

std::string run_types(const Rank& rank, const std::vector<std::size_t>& counts) {
  int number = 0;
  for (const Collective collective : all_collectives) {
    for (const auto& type : data_types) {
      for (const auto& op : reduce_ops) {
        for (const std::size_t part : counts) {
          Case c;
          c.collective = collective;
          c.type = type.type;
          c.op = op.op;
          c.part = part;
          c.mappable = number % 3 == 0;
          if (!is_exact(c, rank.size)) continue;
          if (auto complaint = run(rank, c, number++); !complaint.empty()) return complaint;
        }
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("every collective is right on threads, in every shape") {
  const int size = GENERATE(1, 2, 3, 4, 5, 8);
  INFO(size << " ranks");
  run_threads(size, [](const Rank& rank) {
    return run_shapes(rank, {0, 1, 3, 10, 11, 1000, 65537});
  });
}

TEST_CASE("every dtype and op is right on threads") {
  const int size = GENERATE(1, 2, 3, 4, 9);
  INFO(size << " ranks");
  run_threads(size, [](const Rank& rank) { return run_types(rank, {1, 7, 5000}); });
}

TEST_CASE("every collective is right on processes, in every shape") {
  const int size = GENERATE(1, 2, 3, 4, 8);
  INFO(size << " ranks");
  require_all_well(run_processes(size, [](const Rank& rank) {
    return run_shapes(rank, {0, 1, 3, 10, 1000, 65537, 300'000});
  }));
}

TEST_CASE("every algorithm is right when it is forced") {
  const std::string algorithm =
      GENERATE("ring", "one_shot", "two_shot", "halving_doubling", "mapped");
  const int size = GENERATE(2, 3, 4, 7);
  INFO(algorithm << ", " << size << " ranks");
  require_all_well(run_processes(size,
                                 [](const Rank& rank) {
                                   return run_shapes(rank, {1, 7, 1000, 65537});
                                 },
                                 {}, {"GYRE_ALGORITHM=" + algorithm}));
}

TEST_CASE("slots of any number and size carry every collective") {
  const std::string slots = GENERATE("1", "2", "3", "8");
  const std::string algorithm = GENERATE("ring", "two_shot", "halving_doubling");
  INFO(slots << " slots, " << algorithm);
  require_all_well(run_processes(
      3,
      [](const Rank& rank) {
        return run_shapes(rank, {1, 5000, 40'000});
      },
      {}, {"GYRE_SLOTS=" + slots, "GYRE_SLOT_BYTES=4096", "GYRE_ALGORITHM=" + algorithm}));
}

TEST_CASE("operations started together finish in order") {
  run_threads(3, [](const Rank& rank) -> std::string {
    constexpr int calls = 100;
    std::vector<std::vector<float>> data(calls);
    std::vector<gyre_request_t> requests(calls);
    for (int i = 0; i < calls; ++i) {
      data[static_cast<std::size_t>(i)].assign(static_cast<std::size_t>(1 + i * 37),
                                               static_cast<float>(rank.rank + i));
      auto& values = data[static_cast<std::size_t>(i)];
      const gyre_buffer buffer{values.data(), GYRE_MEMORY_AUTO};
      const gyre_status status =
          gyre_all_reduce(rank.comm, buffer, buffer, values.size(), GYRE_FLOAT32, GYRE_SUM, nullptr,
                          nullptr, &requests[static_cast<std::size_t>(i)]);
      if (status != GYRE_OK) return complain("gyre_all_reduce", status);
    }
    for (int i = 0; i < calls; ++i) {
      gyre_request_t& request = requests[static_cast<std::size_t>(i)];
      gyre_status status = GYRE_IN_PROGRESS;
      if (i % 2 == 0) {
        status = gyre_wait(&request);
      } else {
        while ((status = gyre_test(&request)) == GYRE_IN_PROGRESS) {
        }
      }
      if (status != GYRE_OK) return complain("gyre_wait", status);
      if (request != nullptr) return "the request is still there";
      for (const float value : data[static_cast<std::size_t>(i)])
        if (value != static_cast<float>(3 * i + 3)) return fmt::format("call {} is wrong", i);
    }
    return "";
  });
}

TEST_CASE("two communicators of one process work side by side") {
  run_threads(2, [](const Rank& rank) -> std::string { return run_shapes(rank, {100}); });
  run_threads(2, [](const Rank& rank) -> std::string { return run_shapes(rank, {100}); });
}

}  // namespace gyre::test
