// The C API: communicators, collectives, requests.
#include <fmt/format.h>

#include <algorithm>

#include "collectives/announcing.hpp"
#include "collectives/api.hpp"
#include "collectives/arguments.hpp"

using gyre::Code;
using gyre::Collective;
using gyre::Result;
using gyre::Status;
using gyre::collectives::guarded;
using gyre::collectives::option;
using gyre::collectives::report;

namespace gyre::collectives {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

Status null_comm() { return Status(Code::invalid_argument, "the communicator is NULL"); }

Status create(gyre_context_t context, const gyre_unique_id* id, int rank, int size,
              const gyre_comm_options* options, gyre_comm_t* comm) {
  if (!comm) return Status(Code::invalid_argument, "gyre_comm_create: comm is NULL");
  *comm = nullptr;
  if (!context) return Status(Code::invalid_argument, "gyre_comm_create: the context is NULL");
  if (Status status = context->context->check_process(); !status) return status;
  if (Status status = check_options(options); !status) return status;
  if (!id) return Status(Code::invalid_argument, "gyre_comm_create: id is NULL");
  if (size < 1 || size > ranks_max || rank < 0 || rank >= size) {
    return Status(Code::invalid_argument,
                  fmt::format("gyre_comm_create: rank {} of {} ranks; there may be 1 to {} ranks, "
                              "numbered from 0",
                              rank, size, ranks_max));
  }
  const auto decoded = transport::UniqueId::decode(std::as_bytes(std::span(id->bytes)));
  if (!decoded) return decoded.status();
  const std::uint32_t timeout_ms =
      option(options, &gyre_comm_options::timeout_ms, context->context->settings().timeout_ms);
  const std::int64_t timeout_ns = timeout_ms * ns_per_ms;
  auto member = Member::join(*context->context, {*decoded, rank, size, timeout_ns});
  if (!member) return member.status();
  *comm = new gyre_comm{context, std::move(*member), timeout_ns, 0};
  context->context->add_communicator();
  return {};
}

/// Finds where the buffers lie for other ranks; only where that could matter.
Buffers find_buffers(gyre_comm& comm, const Call& call, const void* send, void* recv) {
  Buffers buffers{static_cast<const std::byte*>(send), static_cast<std::byte*>(recv), {}, {}};
  Member& member = *comm.member;
  const int size = member.communicator().size();
  if (size == 1 || fits_announcement(call, size)) return buffers;
  const Extent extent = extent_of(call, size);
  buffers.output_ref = member.find_memory(recv, extent.output_bytes);
  if (buffers.output_ref.segment == 0) return buffers;
  // A rank that sends nothing offers its output in place of an input.
  const bool sends =
      call.collective != Collective::broadcast || call.root == member.communicator().rank();
  buffers.input_ref = sends ? member.find_memory(send, extent.input_bytes) : buffers.output_ref;
  return buffers;
}

Status check_environment(const gyre_comm& comm, gyre_buffer send, gyre_buffer recv,
                         gyre_stream_t stream, const gyre_options* options) {
  if (Status status = comm.context->context->check_process(); !status) return status;
  if (Status status = check_options(options); !status) return status;
  for (const gyre_memory_kind kind : {send.kind, recv.kind}) {
    if (kind != GYRE_MEMORY_AUTO && kind != GYRE_MEMORY_HOST)
      return Status(Code::unsupported, fmt::format("memory kind {}: only host memory", int{kind}));
  }
  if (stream)
    return Status(Code::unsupported, "stream: this build runs on the host only; pass NULL");
  return {};
}

gyre_status collective(gyre_comm_t comm, const Arguments& arguments, gyre_buffer send,
                       gyre_buffer recv, gyre_stream_t stream, const gyre_options* options,
                       gyre_request_t* request) {
  return guarded([&] {
    if (request) *request = nullptr;
    if (!comm) return report(null_comm());
    if (Status status = check_environment(*comm, send, recv, stream, options); !status)
      return report(status);
    Communicator& communicator = comm->member->communicator();
    const Result<Call> call = check(arguments, communicator.rank(), communicator.size());
    if (!call) return report(call.status());
    const std::int64_t timeout_ns =
        options ? option(options, &gyre_options::timeout_ms,
                         static_cast<std::uint32_t>(comm->timeout_ns / ns_per_ms)) *
                      ns_per_ms
                : comm->timeout_ns;
    const Result<std::uint64_t> sequence = communicator.start(
        *call, find_buffers(*comm, *call, arguments.send, arguments.recv), timeout_ns);
    if (!sequence) return report(sequence.status());
    if (!request) return report(comm->member->wait(*sequence));
    *request = new gyre_request{comm, *sequence};
    ++comm->requests;
    communicator.progress();
    return GYRE_OK;
  });
}

Status check_request(gyre_request_t* request) {
  if (request && *request) return {};
  return Status(Code::invalid_argument, "the request is NULL, or was waited for before");
}

gyre_status finish(gyre_request_t* request, const Status& status) {
  --(*request)->comm->requests;
  delete *request;
  *request = nullptr;
  return report(status);
}

}  // namespace
}  // namespace gyre::collectives

using gyre::collectives::Arguments;

gyre_status gyre_comm_create(gyre_context_t context, const gyre_unique_id* id, int rank, int size,
                             const gyre_comm_options* options, gyre_comm_t* comm) {
  return guarded(
      [&] { return report(gyre::collectives::create(context, id, rank, size, options, comm)); });
}

gyre_status gyre_comm_destroy(gyre_comm_t comm) {
  return guarded([&] {
    if (!comm) return GYRE_OK;
    if (Status status = comm->context->context->check_process(); !status) return report(status);
    if (comm->requests > 0) {
      return report(Status(Code::invalid_argument,
                           fmt::format("gyre_comm_destroy: {} requests have not been waited for; "
                                       "gyre_wait for them first",
                                       comm->requests)));
    }
    const Status status = comm->member->leave();
    comm->context->context->remove_communicator();
    delete comm;
    return report(status);
  });
}

gyre_status gyre_comm_abort(gyre_comm_t comm) {
  return guarded([&] {
    if (!comm) return report(gyre::collectives::null_comm());
    comm->member->abort();
    return GYRE_OK;
  });
}

gyre_status gyre_comm_error(gyre_comm_t comm) {
  return guarded([&] {
    if (!comm) return report(gyre::collectives::null_comm());
    return report(comm->member->communicator().failure());
  });
}

int gyre_comm_rank(gyre_comm_t comm) { return comm ? comm->member->communicator().rank() : -1; }
int gyre_comm_size(gyre_comm_t comm) { return comm ? comm->member->communicator().size() : -1; }

gyre_status gyre_all_reduce(gyre_comm_t comm, gyre_buffer send, gyre_buffer recv, size_t count,
                            gyre_dtype dtype, gyre_op op, gyre_stream_t stream,
                            const gyre_options* options, gyre_request_t* request) {
  const Arguments arguments{Collective::all_reduce, send.data, recv.data, count, dtype, op, 0};
  return gyre::collectives::collective(comm, arguments, send, recv, stream, options, request);
}

gyre_status gyre_reduce_scatter(gyre_comm_t comm, gyre_buffer send, gyre_buffer recv,
                                size_t recv_count, gyre_dtype dtype, gyre_op op,
                                gyre_stream_t stream, const gyre_options* options,
                                gyre_request_t* request) {
  const Arguments arguments{
      Collective::reduce_scatter, send.data, recv.data, recv_count, dtype, op, 0};
  return gyre::collectives::collective(comm, arguments, send, recv, stream, options, request);
}

gyre_status gyre_all_gather(gyre_comm_t comm, gyre_buffer send, gyre_buffer recv, size_t send_count,
                            gyre_dtype dtype, gyre_stream_t stream, const gyre_options* options,
                            gyre_request_t* request) {
  const Arguments arguments{Collective::all_gather, send.data, recv.data, send_count, dtype, 0, 0};
  return gyre::collectives::collective(comm, arguments, send, recv, stream, options, request);
}

gyre_status gyre_broadcast(gyre_comm_t comm, gyre_buffer send, gyre_buffer recv, size_t count,
                           gyre_dtype dtype, int root, gyre_stream_t stream,
                           const gyre_options* options, gyre_request_t* request) {
  const Arguments arguments{Collective::broadcast, send.data, recv.data, count, dtype, 0, root};
  return gyre::collectives::collective(comm, arguments, send, recv, stream, options, request);
}

gyre_status gyre_barrier(gyre_comm_t comm, gyre_stream_t stream, const gyre_options* options,
                         gyre_request_t* request) {
  return gyre::collectives::collective(comm, Arguments{}, {}, {}, stream, options, request);
}

gyre_status gyre_wait(gyre_request_t* request) {
  return guarded([&] {
    if (Status status = gyre::collectives::check_request(request); !status) return report(status);
    return gyre::collectives::finish(request, (*request)->comm->member->wait((*request)->sequence));
  });
}

gyre_status gyre_test(gyre_request_t* request) {
  return guarded([&] {
    if (Status status = gyre::collectives::check_request(request); !status) return report(status);
    auto& member = *(*request)->comm->member;
    const bool finished = member.test((*request)->sequence);
    if (!finished) return GYRE_IN_PROGRESS;
    return gyre::collectives::finish(request, member.wait((*request)->sequence));
  });
}

gyre_status gyre_comm_get_stats(gyre_comm_t comm, gyre_comm_stats* stats) {
  return guarded([&] {
    if (!comm) return report(gyre::collectives::null_comm());
    if (!stats || stats->struct_bytes < sizeof(gyre_comm_stats)) {
      return report(
          Status(Code::invalid_argument,
                 "gyre_comm_get_stats: set stats->struct_bytes to sizeof(gyre_comm_stats)"));
    }
    const auto& communicator = comm->member->communicator();
    stats->operations = communicator.operations_finished();
    stats->bytes_sent = communicator.bytes_sent();
    stats->algorithm = communicator.last_algorithm().data();
    return GYRE_OK;
  });
}
