// One rank of Gloo for gyre-bench, over TCP on the loopback interface: Gloo has no shared memory.
// Lives by bench/helper.hpp; gyre-bench starts the ranks itself and gives each --rank, --size and
// --directory, a scratch folder through which they find each other.
//
// --variant chooses among what Gloo offers, see `algorithms` below. It has two generations of API:
// functions (what PyTorch calls), and classes that are set up once for fixed buffers. `_poll` lets
// the calling thread read the sockets, and never sleep, instead of Gloo's own thread.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/helper.hpp"

namespace {

using namespace gyre;
using namespace gyre::bench;

inline constexpr std::uint32_t start_deadline_ms = 60'000;
inline constexpr std::chrono::minutes operation_timeout{
    60};  // the helper's own deadline is shorter

using Function = void (*)(void*, const void*, const void*, std::size_t);
using Options = gloo::AllreduceOptions;

struct Algorithm {
  std::string_view name;
  bool classes;  ///< of the generation of classes
  bool poll;
  Options::Algorithm function;
};

inline constexpr Algorithm algorithms[] = {
    {"ring", false, false, Options::Algorithm::RING},
    {"bcube", false, false, Options::Algorithm::BCUBE},
    {"ring_chunked", true, false, {}},
    {"ring_chunked_poll", true, true, {}},
    {"halving_doubling", true, false, {}},
    {"halving_doubling_poll", true, true, {}},
};

const Algorithm* find_algorithm(const std::string& name) {
  for (const auto& row : algorithms)
    if (row.name == name || (name == "default" && row.name == "ring")) return &row;
  return nullptr;
}

template <typename T>
Function function_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return gloo::sum<T>;
    case ReduceOp::min: return gloo::min<T>;
    case ReduceOp::max: return gloo::max<T>;
    case ReduceOp::avg: break;
  }
  return nullptr;
}

template <typename T>
const gloo::ReductionFunction<T>* class_function_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return gloo::ReductionFunction<T>::sum;
    case ReduceOp::min: return gloo::ReductionFunction<T>::min;
    case ReduceOp::max: return gloo::ReductionFunction<T>::max;
    case ReduceOp::avg: break;
  }
  return nullptr;
}

class GlooLibrary {
 public:
  /// Meets the other ranks; throws what Gloo throws.
  GlooLibrary(const HelperArguments& arguments, const Algorithm& algorithm, int cpus)
      : algorithm_(algorithm), rank_(arguments.rank), size_(arguments.size), cpus_(cpus) {
    gloo::transport::tcp::attr loopback("127.0.0.1");
    auto device = gloo::transport::tcp::CreateDevice(loopback);
    gloo::rendezvous::FileStore store(arguments.directory);
    context_ = connect(store, device, "functions");
    // A polled pair serves the classes only.
    class_context_ = algorithm.poll ? connect(store, device, "classes") : context_;
    for (int i = 0; algorithm.poll && i < size_; ++i)
      if (i != rank_) class_context_->getPair(i)->setSync(true, true);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::string name() const { return "gloo"; }
  std::string error() const { return error_; }
  std::uint64_t bytes_sent() const { return 0; }
  std::string algorithm() const { return std::string(algorithm_.name); }
  std::string version() const {
    return "Gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) +
           "." + std::to_string(GLOO_VERSION_PATCH);
  }

  std::string prepare(const Operation& operation, void* send, void* receive) {
    if (operation.nonblocking) return "unsupported: gloo has blocking calls only";
    if (operation.op == ReduceOp::avg) return "unsupported: gloo has no average";
    if (algorithm_.poll && size_ > cpus_)
      return "unsupported: polling needs a cpu for every rank; a call takes 100 ms otherwise";
    const auto elements = std::max(send_count(operation, size_), receive_count(operation, size_));
    if (algorithm_.classes && elements > std::numeric_limits<int>::max())
      return "unsupported: gloo's classes count in int, and this takes more than 2^31-1 elements";
    operation_ = operation;
    output_ = nullptr;
    switch (operation.dtype) {
      case DataType::float32: return prepare_typed<float>(send, receive);
      case DataType::float64: return prepare_typed<double>(send, receive);
      case DataType::float16: return prepare_typed<gloo::float16>(send, receive);
      case DataType::int32: return prepare_typed<std::int32_t>(send, receive);
      case DataType::int64: return prepare_typed<std::int64_t>(send, receive);
      case DataType::bfloat16: break;
    }
    return "unsupported: gloo has no type " + std::string(name_of(operation.dtype));
  }

  bool run(void*, void*, int root) {
    return guarded([&] { call_(root); });
  }

  bool barrier() {
    return guarded([&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

  void* result(const Operation& operation, void* send, void* receive, int root) const {
    if (operation.collective == Collective::broadcast) return rank_ == root ? send : receive;
    return output_ ? output_ : receive;
  }

  /// Gloo has no memory of its own; over TCP any is as good.
  void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  void release(void* data, std::size_t) { std::free(data); }

 private:
  using Context = std::shared_ptr<gloo::rendezvous::Context>;

  Context connect(gloo::rendezvous::FileStore& store,
                  std::shared_ptr<gloo::transport::Device>& device, const std::string& prefix) {
    gloo::rendezvous::PrefixStore own(prefix, store);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
    context->setTimeout(operation_timeout);
    context->connectFullMesh(own, device);
    return context;
  }

  template <typename Call>
  bool guarded(Call&& call) {
    try {
      call();
      return true;
    } catch (const std::exception& failure) {
      error_ = failure.what();
      return false;
    }
  }

  template <typename T>
  std::string prepare_typed(void* send, void* receive) {
    auto* from = static_cast<T*>(send);
    auto* to = static_cast<T*>(receive);
    const bool ok = guarded([&] {
      switch (operation_.collective) {
        case Collective::all_reduce: return prepare_all_reduce(from, to);
        case Collective::reduce_scatter: return prepare_reduce_scatter(from);
        case Collective::all_gather: return prepare_all_gather(from, to);
        case Collective::broadcast: return prepare_broadcast(from, to);
        case Collective::barrier: return;
      }
    });
    return ok ? "" : "gloo: " + error_;
  }

  template <typename T>
  void prepare_all_reduce(T* from, T* to) {
    if (!algorithm_.classes) return use_function(from, to, operation_.count);
    const std::size_t bytes = operation_.count * sizeof(T);
    const std::vector<T*> pointers{to};
    const auto count = static_cast<int>(operation_.count);
    const auto* function = class_function_of<T>(operation_.op);
    std::shared_ptr<gloo::Algorithm> algorithm;
    if (algorithm_.name.starts_with("ring"))
      algorithm = std::make_shared<gloo::AllreduceRingChunked<T>>(class_context_, pointers, count,
                                                                  function);
    else
      algorithm = std::make_shared<gloo::AllreduceHalvingDoubling<T>>(class_context_, pointers,
                                                                      count, function);
    // The classes work in place.
    call_ = [=](int) {
      if (from != to) std::memcpy(static_cast<void*>(to), from, bytes);
      algorithm->run();
    };
  }

  /// `gloo::allreduce` with options made once.
  template <typename T>
  void use_function(T* from, T* to, std::size_t count) {
    auto options = std::make_shared<Options>(context_);
    options->setAlgorithm(algorithm_.function);
    options->setReduceFunction(function_of<T>(operation_.op));
    if (from != to) options->setInput(from, count);
    options->setOutput(to, count);
    call_ = [options](int) { gloo::allreduce(*options); };
  }

  /// There is no function for it: what PyTorch does instead is an all-reduce of everything.
  template <typename T>
  void prepare_reduce_scatter(T* from) {
    const std::uint64_t all = operation_.count * static_cast<unsigned>(size_);
    T* work = from;
    if (!operation_.in_place) {
      scratch_.resize(std::max<std::size_t>(all * sizeof(T), 1));
      work = reinterpret_cast<T*>(scratch_.data());
    }
    if (!algorithm_.classes) {
      output_ = work + operation_.count * static_cast<unsigned>(rank_);
      return use_function(from, work, all);
    }
    output_ = work;
    const std::vector<T*> pointers{work};
    const std::vector<int> counts(static_cast<unsigned>(size_), static_cast<int>(operation_.count));
    auto algorithm = std::make_shared<gloo::ReduceScatterHalvingDoubling<T>>(
        class_context_, pointers, static_cast<int>(all), counts,
        class_function_of<T>(operation_.op));
    call_ = [=](int) {
      if (from != work) std::memcpy(static_cast<void*>(work), from, all * sizeof(T));
      algorithm->run();
    };
  }

  template <typename T>
  void prepare_all_gather(T* from, T* to) {
    auto options = std::make_shared<gloo::AllgatherOptions>(context_);
    if (!operation_.in_place) options->setInput(from, operation_.count);
    options->setOutput(to, operation_.count * static_cast<unsigned>(size_));
    call_ = [options](int) { gloo::allgather(*options); };
  }

  /// The root sends from its input, so that Gloo need not copy it to an output.
  template <typename T>
  void prepare_broadcast(T* from, T* to) {
    auto sending = std::make_shared<gloo::BroadcastOptions>(context_);
    auto receiving = std::make_shared<gloo::BroadcastOptions>(context_);
    sending->setOutput(from, operation_.count);
    receiving->setOutput(to, operation_.count);
    call_ = [sending, receiving, rank = rank_](int root) {
      auto& options = rank == root ? *sending : *receiving;
      options.setRoot(root);
      gloo::broadcast(options);
    };
  }

  const Algorithm& algorithm_;
  int rank_;
  int size_;
  int cpus_;
  Context context_;
  Context class_context_;
  Operation operation_;
  std::function<void(int root)> call_;
  std::vector<char> scratch_;
  void* output_ = nullptr;  ///< where the result is, if not in the receive buffer
  std::string error_;
};

}  // namespace

int main(int argc, char** argv) {
  die_with_parent();
  HelperArguments arguments;
  std::string error;
  const bool parsed = parse_helper_arguments(argc, argv, &arguments, &error);
  const Algorithm* algorithm = find_algorithm(arguments.variant);
  if (parsed && (arguments.rank < 0 || arguments.rank >= arguments.size))
    error = "--rank R --size N are missing, or R is not below N";
  else if (parsed && arguments.directory.empty())
    error = "--directory D is missing";
  else if (parsed && !algorithm)
    error = "--variant " + arguments.variant + ": gloo has no such algorithm";
  if (!error.empty()) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.c_str());
    return 2;
  }
  try {
    arm_deadline(start_deadline_ms);
    GlooLibrary library(arguments, *algorithm, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
    arm_deadline(0);
    return run_helper(arguments, library);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
    return 1;
  }
}
