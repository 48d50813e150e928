// gyre as the bench measures it: the Library of bench/turn.hpp on the public C API and nothing
// else.
#pragma once

#include <gyre/gyre.h>

#include <cstdint>
#include <string>

#include "bench/protocol.hpp"

namespace gyre::bench {

class GyreLibrary {
 public:
  /// Borrows both.
  GyreLibrary(gyre_context_t context, gyre_comm_t comm) : context_(context), comm_(comm) {}

  int rank() const { return gyre_comm_rank(comm_); }
  int size() const { return gyre_comm_size(comm_); }
  std::string name() const { return "gyre"; }
  std::string version() const { return gyre_version(); }
  std::string error() const { return error_; }

  std::string prepare(const Operation& operation, void*, void*) {
    operation_ = operation;
    dtype_ = static_cast<gyre_dtype>(operation.dtype);
    op_ = static_cast<gyre_op>(operation.op);
    return "";
  }

  bool run(void* send, void* receive, int root) {
    gyre_request_t request = nullptr;
    gyre_request_t* handle = operation_.nonblocking ? &request : nullptr;
    const gyre_buffer from{send, GYRE_MEMORY_HOST};
    const gyre_buffer to{receive, GYRE_MEMORY_HOST};
    gyre_status status = GYRE_UNSUPPORTED;
    switch (operation_.collective) {
      case Collective::all_reduce:
        status = gyre_all_reduce(comm_, from, to, operation_.count, dtype_, op_, nullptr, nullptr,
                                 handle);
        break;
      case Collective::reduce_scatter:
        status = gyre_reduce_scatter(comm_, from, to, operation_.count, dtype_, op_, nullptr,
                                     nullptr, handle);
        break;
      case Collective::all_gather:
        status =
            gyre_all_gather(comm_, from, to, operation_.count, dtype_, nullptr, nullptr, handle);
        break;
      case Collective::broadcast:
        status = gyre_broadcast(comm_, from, to, operation_.count, dtype_, root, nullptr, nullptr,
                                handle);
        break;
      case Collective::barrier: break;
    }
    if (status == GYRE_OK && handle) status = gyre_wait(handle);
    return status == GYRE_OK || failed();
  }

  bool barrier() { return gyre_barrier(comm_, nullptr, nullptr, nullptr) == GYRE_OK || failed(); }

  void* result(const Operation&, void*, void* receive, int) const { return receive; }

  void* allocate(std::size_t bytes) {
    void* data = nullptr;
    return gyre_allocate(context_, bytes, &data) == GYRE_OK ? data : nullptr;
  }
  void release(void* data, std::size_t) { (void)gyre_free(context_, data); }

  std::uint64_t bytes_sent() const { return stats().bytes_sent; }
  std::string algorithm() const {
    const char* name = stats().algorithm;
    return name ? name : "";
  }

 private:
  gyre_comm_stats stats() const {
    gyre_comm_stats stats{};
    stats.struct_bytes = sizeof stats;
    return gyre_comm_get_stats(comm_, &stats) == GYRE_OK ? stats : gyre_comm_stats{};
  }

  bool failed() {
    error_ = gyre_last_error();
    return false;
  }

  gyre_context_t context_;
  gyre_comm_t comm_;
  Operation operation_;
  gyre_dtype dtype_ = GYRE_FLOAT32;
  gyre_op op_ = GYRE_SUM;
  std::string error_;
};

}  // namespace gyre::bench
