/** @file
 * gyre: collective communication for data-parallel training. The stable C interface.
 *
 * A process makes a context, the ranks agree on a unique id by any side channel, each makes a
 * communicator from it, and then all ranks call the same collectives in the same order.
 *
 * Threads: a communicator and its requests belong to one thread at a time; gyre_comm_abort and
 * gyre_comm_error may be called from any thread. A context may be used from any thread. Different
 * communicators are independent.
 *
 * Errors: every call returns a gyre_status. The text for the calling thread's last failure is in
 * gyre_last_error(). A call that is refused for its arguments has touched nothing. After an error
 * inside an operation its output is unspecified, the communicator has failed for all ranks, and it
 * can only be destroyed.
 *
 * Deadlines: every wait has one. An operation takes gyre_options.timeout_ms, else the
 * communicator's, else GYRE_TIMEOUT_MS.
 */
#ifndef GYRE_GYRE_H
#define GYRE_GYRE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "gyre runs on Linux"
#endif
/** Marks what the library exports. */
#define GYRE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header; gyre_version() says the library's. */
#define GYRE_VERSION_MAJOR 0 /**< rises when programs must be changed */
#define GYRE_VERSION_MINOR 1 /**< rises when something is added */
#define GYRE_VERSION_PATCH 0 /**< rises when something is mended */

/** Outcome of a call. */
typedef enum gyre_status {
  GYRE_OK = 0,               /**< done */
  GYRE_INVALID_ARGUMENT = 1, /**< null, overlapping, out of range, unknown */
  GYRE_UNSUPPORTED = 2,      /**< valid, but not with this build or on this machine */
  GYRE_MISMATCH = 3,         /**< ranks disagree about a call; the message quotes both */
  GYRE_PEER_FAILED = 4,      /**< a rank died; see gyre_error_rank() */
  GYRE_TIMEOUT = 5,          /**< a deadline passed; see gyre_error_rank() for who was missing */
  GYRE_ABORTED = 6,          /**< somebody called gyre_comm_abort */
  GYRE_OUT_OF_RESOURCES = 7, /**< memory or descriptors */
  GYRE_REFUSED = 8,          /**< wrong secret, or another user's process */
  GYRE_SYSTEM = 9,           /**< the operating system said no; the message has its words */
  GYRE_INTERNAL = 10,        /**< a defect in gyre: please report it */
  GYRE_IN_PROGRESS = 11      /**< gyre_test only: not finished yet */
} gyre_status;

/** Element types; the numbers are NCCL's. */
typedef enum gyre_dtype {
  GYRE_INT32 = 2,   /**< 4 bytes, two's complement */
  GYRE_INT64 = 4,   /**< 8 bytes, two's complement */
  GYRE_FLOAT16 = 6, /**< 2 bytes, IEEE 754 binary16 */
  GYRE_FLOAT32 = 7, /**< 4 bytes, IEEE 754 binary32 */
  GYRE_FLOAT64 = 8, /**< 8 bytes, IEEE 754 binary64 */
  GYRE_BFLOAT16 = 9, /**< 2 bytes, the upper half of a binary32 */
  GYRE_DTYPE_LIMIT = 0x7fffffff /**< not a type: makes the enumeration as wide as an int */
} gyre_dtype;

/** Reduction operators; the numbers are NCCL's. Sums of 16-bit floats accumulate in float32. min
 * and max: NaN wins, -0 < +0. avg: the sum divided once by the number of ranks (integers: the
 * wrapped sum, truncated toward zero). */
typedef enum gyre_op {
  GYRE_SUM = 0, /**< integers wrap */
  GYRE_MAX = 2, /**< the largest */
  GYRE_MIN = 3, /**< the smallest */
  GYRE_AVG = 4, /**< the sum divided by the number of ranks */
  GYRE_OP_LIMIT = 0x7fffffff /**< not an operator: makes the enumeration as wide as an int */
} gyre_op;

/** Where a buffer lives. GYRE_MEMORY_AUTO finds out. */
typedef enum gyre_memory_kind {
  GYRE_MEMORY_AUTO = 0, /**< gyre looks */
  GYRE_MEMORY_HOST = 1, /**< memory of the host, gyre's or any other */
  GYRE_MEMORY_LIMIT = 0x7fffffff /**< not a kind: makes the enumeration as wide as an int */
} gyre_memory_kind;

typedef struct gyre_context* gyre_context_t; /**< what a process shares */
typedef struct gyre_comm* gyre_comm_t;       /**< one rank of one communicator */
typedef struct gyre_request* gyre_request_t; /**< an operation that may still run */

/** An ordered queue of work on a device; NULL is the host. */
typedef struct gyre_stream* gyre_stream_t;

/** Memory to read or write. */
typedef struct gyre_buffer {
  void* data;            /**< never written through where the call only reads */
  gyre_memory_kind kind; /**< where it lives */
} gyre_buffer;

/** Size of a gyre_unique_id. */
#define GYRE_UNIQUE_ID_BYTES 128
/** Shared by the ranks of one communicator, by whatever channel the program has. It carries a
 * 128-bit secret: who has it may join. Opaque; copy it whole. */
typedef struct gyre_unique_id {
  unsigned char bytes[GYRE_UNIQUE_ID_BYTES]; /**< not to be looked at */
} gyre_unique_id;

/* Options structs: set struct_bytes = sizeof(the struct) and zero the rest; fields are only ever
 * added at the end. Passing NULL means all defaults. */
/** Of gyre_context_create(). */
typedef struct gyre_context_options {
  size_t struct_bytes;   /**< sizeof(the struct) */
  const char* log_level; /**< "error", "warn", "info", "debug"; NULL: GYRE_LOG */
} gyre_context_options;

/** Of gyre_comm_create(). */
typedef struct gyre_comm_options {
  size_t struct_bytes; /**< sizeof(the struct) */
  uint32_t timeout_ms; /**< of creation and of each operation; 0: GYRE_TIMEOUT_MS */
} gyre_comm_options;

/** Of one operation. */
typedef struct gyre_options {
  size_t struct_bytes; /**< sizeof(the struct) */
  uint32_t timeout_ms; /**< 0: the communicator's */
} gyre_options;

/* ---- Context --------------------------------------------------------------------------------- */

/** What a process shares: control thread, mapped memory, log, environment. Invalid after fork. */
GYRE_API gyre_status gyre_context_create(const gyre_context_options* options,
                                         gyre_context_t* context);
/** Communicators and memory made from it must be gone; refused otherwise. NULL is allowed. */
GYRE_API gyre_status gyre_context_destroy(gyre_context_t context);

/* ---- Communicator ---------------------------------------------------------------------------- */

/** Makes an id and begins to listen for the other ranks; call it in the process of rank 0, before
 * that rank creates the communicator with the same context. */
GYRE_API gyre_status gyre_get_unique_id(gyre_context_t context, gyre_unique_id* id);

/** Blocks until all `size` ranks have joined or the deadline names those who did not. 1 <= size <=
 * 65536, 0 <= rank < size. Several ranks of one communicator may live in one process, each created
 * by its own thread. */
GYRE_API gyre_status gyre_comm_create(gyre_context_t context, const gyre_unique_id* id, int rank,
                                      int size, const gyre_comm_options* options,
                                      gyre_comm_t* comm);
/** Finishes operations in flight (within their deadlines) and frees everything. NULL is allowed. */
GYRE_API gyre_status gyre_comm_destroy(gyre_comm_t comm);
/** Any thread, any moment. Every operation of every rank ends with GYRE_ABORTED; waits for none. */
GYRE_API gyre_status gyre_comm_abort(gyre_comm_t comm);
/** GYRE_OK while the communicator works, else why it failed. Any thread. */
GYRE_API gyre_status gyre_comm_error(gyre_comm_t comm);
/** -1 for NULL. */
GYRE_API int gyre_comm_rank(gyre_comm_t comm);
/** -1 for NULL. */
GYRE_API int gyre_comm_size(gyre_comm_t comm);

/* ---- Memory ---------------------------------------------------------------------------------- */

/** Memory that the other ranks of the host can map, so that operations on it need no copies in
 * between. Page aligned, zeroed. Ordinary memory works everywhere too, with one more copy. */
GYRE_API gyre_status gyre_allocate(gyre_context_t context, size_t bytes, void** data);
/** NULL is allowed. No operation may be using it. */
GYRE_API gyre_status gyre_free(gyre_context_t context, void* data);
/** Makes a range that the caller has mapped from a memfd mappable for the other ranks. `offset` is
 * where in the file `data` begins. malloc'ed memory can't be mapped by another process: refused. */
GYRE_API gyre_status gyre_register(gyre_context_t context, void* data, size_t bytes, int memfd,
                                   size_t offset);
/** Before the range is unmapped. No operation may be using it. */
GYRE_API gyre_status gyre_deregister(gyre_context_t context, void* data);

/* ---- Collectives ----------------------------------------------------------------------------- */

/* Counts are elements. Buffers may be the same (in place; for reduce_scatter and all_gather the
 * smaller one is then at the rank's own place in the larger one), otherwise they must not overlap.
 * With a non-NULL `request` the call returns at once and the buffers belong to gyre until the
 * request has finished; with NULL it blocks. Count 0 is a valid call and synchronises nothing but
 * the call's order. */

/** recv[i] = op over ranks of send[i]; `count` elements each. */
GYRE_API gyre_status gyre_all_reduce(gyre_comm_t comm, gyre_buffer send, gyre_buffer recv,
                                     size_t count, gyre_dtype dtype, gyre_op op,
                                     gyre_stream_t stream, const gyre_options* options,
                                     gyre_request_t* request);
/** recv[i] = op over ranks of send[rank * recv_count + i]; send has size * recv_count elements. */
GYRE_API gyre_status gyre_reduce_scatter(gyre_comm_t comm, gyre_buffer send, gyre_buffer recv,
                                         size_t recv_count, gyre_dtype dtype, gyre_op op,
                                         gyre_stream_t stream, const gyre_options* options,
                                         gyre_request_t* request);
/** recv[r * send_count + i] = send[i] of rank r; recv has size * send_count elements. */
GYRE_API gyre_status gyre_all_gather(gyre_comm_t comm, gyre_buffer send, gyre_buffer recv,
                                     size_t send_count, gyre_dtype dtype, gyre_stream_t stream,
                                     const gyre_options* options, gyre_request_t* request);
/** recv = send of rank `root`; `send` is read on the root only and may be {NULL} elsewhere. */
GYRE_API gyre_status gyre_broadcast(gyre_comm_t comm, gyre_buffer send, gyre_buffer recv,
                                    size_t count, gyre_dtype dtype, int root, gyre_stream_t stream,
                                    const gyre_options* options, gyre_request_t* request);
/** No rank returns before every rank has entered. */
GYRE_API gyre_status gyre_barrier(gyre_comm_t comm, gyre_stream_t stream,
                                  const gyre_options* options, gyre_request_t* request);

/* ---- Requests -------------------------------------------------------------------------------- */

/** Waits until the operation has finished, frees the request and sets *request to NULL. Its result
 * is the return value. Requests of one communicator finish in the order in which they were started.
 */
GYRE_API gyre_status gyre_wait(gyre_request_t* request);
/** Advances and returns GYRE_IN_PROGRESS, or does what gyre_wait does if it has finished. */
GYRE_API gyre_status gyre_test(gyre_request_t* request);

/* ---- Errors and information ------------------------------------------------------------------ */

/** Text of the calling thread's last failed gyre call, with cause and fix; "" if there was none.
 * Valid until the thread's next gyre call. */
GYRE_API const char* gyre_last_error(void);
/** The rank that caused the calling thread's last failure, -1 where none is known. */
GYRE_API int gyre_error_rank(void);
/** "peer failed" and the like; never NULL. */
GYRE_API const char* gyre_status_name(gyre_status status);
/** "0.1.0 (git description)" */
GYRE_API const char* gyre_version(void);

/** What a communicator has done so far. Zero it and set struct_bytes. */
typedef struct gyre_comm_stats {
  size_t struct_bytes;   /**< sizeof(the struct) */
  uint64_t operations;   /**< finished */
  uint64_t bytes_sent;   /**< payload this rank stored for, or posted to, others */
  const char* algorithm; /**< of the last operation; static storage */
} gyre_comm_stats;
/** Any moment; the thread that the communicator belongs to. */
GYRE_API gyre_status gyre_comm_get_stats(gyre_comm_t comm, gyre_comm_stats* stats);

#ifdef __cplusplus
}
#endif
#endif /* GYRE_GYRE_H */
