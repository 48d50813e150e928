// One rank of an MPI library for gyre-bench: Open MPI, MPICH or Intel MPI, whichever this source is
// compiled against. It initialises MPI once and then lives by bench/helper.hpp: between turns it
// sleeps in read(2), never inside MPI, so that it takes no CPU time from whoever is being measured.
//
// The build defines GYRE_PEER, the peer's name. Only what MPI's standard offers is used; the
// library's own settings come through the environment, from bench/peers/variants.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "bench/helper.hpp"

namespace {

using namespace gyre;
using namespace gyre::bench;

inline constexpr std::uint32_t start_deadline_ms = 120'000;
inline constexpr std::uint32_t finish_deadline_ms = 10'000;

/// Element type as MPI names it; MPI_DATATYPE_NULL where this library has none. The 16-bit types
/// are extensions that some libraries define.
MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::float32: return MPI_FLOAT;
    case DataType::float64: return MPI_DOUBLE;
    case DataType::int32: return MPI_INT32_T;
    case DataType::int64: return MPI_INT64_T;
#ifdef MPIX_C_FLOAT16
    case DataType::float16: return MPIX_C_FLOAT16;
#endif
#ifdef MPIX_BFLOAT16
    case DataType::bfloat16: return MPIX_BFLOAT16;
#endif
    default: return MPI_DATATYPE_NULL;
  }
}

/// MPI_OP_NULL for an average, which MPI does not have.
MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return MPI_SUM;
    case ReduceOp::min: return MPI_MIN;
    case ReduceOp::max: return MPI_MAX;
    case ReduceOp::avg: break;
  }
  return MPI_OP_NULL;
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

/// Removes the names in /dev/shm of all that this process maps, which some libraries (MPICH) leave
/// behind when they are not finalised. Only calls what a signal handler may.
void remove_shared_names() {
  static char text[1 << 20];
  static constexpr char folder[] = "/dev/shm/";
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::size_t used = 0;
  while (file >= 0 && used < sizeof text - 1) {
    const ssize_t got = ::read(file, text + used, sizeof text - 1 - used);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  for (char *line = text, *end = nullptr; (end = std::strchr(line, '\n')); line = end + 1) {
    *end = 0;
    if (const char* name = std::strstr(line, folder)) ::unlink(name);
  }
}

/// Ends the process by the signal that arrived, as without a handler, but tidily.
void end_by_signal(int signal) {
  remove_shared_names();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

class MpiLibrary {
 public:
  MpiLibrary() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    // An error that belongs to no communicator goes to the world's handler before MPI 4, to
    // MPI_COMM_SELF's since.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::string name() const { return GYRE_PEER; }
  std::uint64_t bytes_sent() const { return 0; }
  std::string algorithm() const { return ""; }

  std::string version() const {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text);
    return all.substr(0, all.find('\n'));
  }

  std::string prepare(const Operation& operation, void*, void*) {
    if (operation.nonblocking) return "unsupported: only blocking calls are measured of MPI";
    type_ = mpi_type(operation.dtype);
    if (type_ == MPI_DATATYPE_NULL)
      return "unsupported: " GYRE_PEER " has no type " + std::string(name_of(operation.dtype));
    op_ = mpi_op(operation.op);
    if (reduces(operation.collective) && !can_reduce(operation))
      return "unsupported: " GYRE_PEER " has no " + std::string(name_of(operation.op)) + " of " +
             std::string(name_of(operation.dtype));
    const auto elements = std::max(send_count(operation, size_), receive_count(operation, size_));
    large_ = elements > std::numeric_limits<int>::max();
    if (large_ && MPI_VERSION < 4)
      return "unsupported: " GYRE_PEER " counts in int, and this takes more than 2^31-1 elements";
    count_ = operation.count;
    collective_ = operation.collective;
    in_place_ = operation.in_place != 0;
    return "";
  }

  bool run(void* send, void* receive, int root) {
    const void* from = in_place_ ? MPI_IN_PLACE : send;
    // In place, MPI_Reduce_scatter_block's receive buffer is the whole input.
    void* to = in_place_ && collective_ == Collective::reduce_scatter ? send : receive;
    if (collective_ == Collective::broadcast && rank_ == root) to = send;
    code_ = large_ ? call_large(from, to, root) : call(from, to, root);
    return code_ == MPI_SUCCESS;
  }

  bool barrier() {
    code_ = MPI_Barrier(MPI_COMM_WORLD);
    return code_ == MPI_SUCCESS;
  }

  std::string error() const {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code_, text, &length);
    return text;
  }

  void* result(const Operation& operation, void* send, void* receive, int root) const {
    if (operation.collective == Collective::broadcast) return rank_ == root ? send : receive;
    const bool at_beginning =
        operation.in_place && operation.collective == Collective::reduce_scatter;
    return at_beginning ? send : receive;
  }

  void* allocate(std::size_t bytes) {
    void* data = nullptr;
    const auto size = static_cast<MPI_Aint>(bytes);
    return MPI_Alloc_mem(size, MPI_INFO_NULL, &data) == MPI_SUCCESS ? data : nullptr;
  }
  void release(void* data, std::size_t) { MPI_Free_mem(data); }

 private:
  /// A library may define a 16-bit type that it cannot reduce: MPICH 4.0 and, for all but sums, 5.0
  /// abort then. So it is tried on one element by a child, which is cut off from the launcher.
  bool can_reduce(const Operation& operation) const {
    if (op_ == MPI_OP_NULL) return false;
    if (size_of(operation.dtype) > 2) return true;
    const pid_t child = ::fork();
    if (child == 0) {
      ::close_range(0, ~0U, 0);
      std::uint16_t input = 0;
      std::uint16_t output = 0;
      ::_exit(MPI_Reduce_local(&input, &output, 1, type_, op_) == MPI_SUCCESS ? 0 : 1);
    }
    int status = 1;
    if (child > 0) ::waitpid(child, &status, 0);
    return child > 0 && status == 0;
  }

  int call(const void* from, void* to, int root) const {
    const int count = static_cast<int>(count_);
    switch (collective_) {
      case Collective::all_reduce:
        return MPI_Allreduce(from, to, count, type_, op_, MPI_COMM_WORLD);
      case Collective::reduce_scatter:
        return MPI_Reduce_scatter_block(from, to, count, type_, op_, MPI_COMM_WORLD);
      case Collective::all_gather:
        return MPI_Allgather(from, count, type_, to, count, type_, MPI_COMM_WORLD);
      case Collective::broadcast: return MPI_Bcast(to, count, type_, root, MPI_COMM_WORLD);
      case Collective::barrier: return MPI_Barrier(MPI_COMM_WORLD);
    }
    return MPI_ERR_OTHER;
  }

  int call_large(const void* from, void* to, int root) const {
#if MPI_VERSION >= 4
    const auto count = static_cast<MPI_Count>(count_);
    switch (collective_) {
      case Collective::all_reduce:
        return MPI_Allreduce_c(from, to, count, type_, op_, MPI_COMM_WORLD);
      case Collective::reduce_scatter:
        return MPI_Reduce_scatter_block_c(from, to, count, type_, op_, MPI_COMM_WORLD);
      case Collective::all_gather:
        return MPI_Allgather_c(from, count, type_, to, count, type_, MPI_COMM_WORLD);
      case Collective::broadcast: return MPI_Bcast_c(to, count, type_, root, MPI_COMM_WORLD);
      case Collective::barrier: return MPI_Barrier(MPI_COMM_WORLD);
    }
#endif
    (void)from, (void)to, (void)root;
    return MPI_ERR_OTHER;
  }

  int rank_ = 0;
  int size_ = 1;
  int code_ = MPI_SUCCESS;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
  std::uint64_t count_ = 0;
  Collective collective_ = Collective::barrier;
  bool in_place_ = false;
  bool large_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  die_with_parent();
  arm_deadline(start_deadline_ms);
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  arm_deadline(0);
  ::signal(SIGALRM, end_by_signal);
  ::signal(SIGTERM, end_by_signal);
  HelperArguments arguments;
  std::string error;
  if (!parse_helper_arguments(argc, argv, &arguments, &error)) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MpiLibrary library;
  const int code = run_helper(arguments, library);
  // It waits for all ranks: where one has died there is nothing left to wait for.
  arm_deadline(finish_deadline_ms);
  MPI_Finalize();
  return code;
}
