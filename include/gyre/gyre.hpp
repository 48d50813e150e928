// gyre in C++20: owners for the C interface's handles, and typed collectives. Header only; the
// library behind it is the C one, so its ABI is the stable C ABI.
//
// Failures are thrown as gyre::Error, which carries what the C interface reports. Threads,
// deadlines and the meaning of each call are those of gyre.h.
#pragma once

#include <gyre/gyre.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace gyre {

/// A failed call: its text has cause and fix.
class Error : public std::runtime_error {
 public:
  /// What the C interface said: its status, its text, the rank that caused it or -1.
  Error(gyre_status status, const std::string& text, int rank)
      : std::runtime_error(text), status_(status), rank_(rank) {}

  /// What went wrong; never GYRE_OK.
  gyre_status status() const noexcept { return status_; }
  /// The rank that caused it, -1 where none is known.
  int rank() const noexcept { return rank_; }

 private:
  gyre_status status_;
  int rank_;
};

namespace detail {

inline void require(gyre_status status) {
  if (status == GYRE_OK) return;
  throw Error(status, std::string(gyre_status_name(status)) + ": " + gyre_last_error(),
              gyre_error_rank());
}

/// The dtype of a C++ type; the 16-bit floats have none in C++20: use the C interface for them.
template <typename T>
constexpr gyre_dtype dtype_of() {
  if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == sizeof(float) ? GYRE_FLOAT32 : GYRE_FLOAT64;
  } else {
    return sizeof(T) == 4 ? GYRE_INT32 : GYRE_INT64;
  }
}

template <typename T>
concept Element = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    (std::is_integral_v<T>&& std::is_signed_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

/// Owns a C handle.
template <typename Handle, gyre_status (*destroy)(Handle)>
class Owner {
 public:
  Owner() = default;
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Owner() { reset(); }

  Handle get() const noexcept { return handle_; }
  Handle* put() noexcept { return &handle_; }

 private:
  void reset() noexcept {
    if (handle_) static_cast<void>(destroy(handle_));
    handle_ = nullptr;
  }
  Handle handle_ = nullptr;
};

}  // namespace detail

/// What a process shares between its communicators; outlives them and its memory.
class Context {
 public:
  Context() { detail::require(gyre_context_create(nullptr, handle_.put())); }

  /// For rank 0: makes an id for the others to join with.
  gyre_unique_id unique_id() {
    gyre_unique_id id;
    detail::require(gyre_get_unique_id(handle_.get(), &id));
    return id;
  }

  /// For calls of the C interface; stays owned.
  gyre_context_t handle() const noexcept { return handle_.get(); }

 private:
  detail::Owner<gyre_context_t, gyre_context_destroy> handle_;
};

/// An array that the other ranks of the host can map: operations on it need no copies in between.
template <detail::Element T>
class Memory {
 public:
  /// `count` zeroed elements; the context must outlive them.
  Memory(const Context& context, std::size_t count) : context_(context.handle()), count_(count) {
    if (count > SIZE_MAX / sizeof(T)) throw Error(GYRE_INVALID_ARGUMENT, "count too large", -1);
    void* data = nullptr;
    if (count > 0) detail::require(gyre_allocate(context_, count * sizeof(T), &data));
    data_ = static_cast<T*>(data);
  }
  /// `other` is left empty.
  Memory(Memory&& other) noexcept
      : context_(other.context_),
        data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  /// The two change places.
  Memory& operator=(Memory&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Memory() { static_cast<void>(gyre_free(context_, data_)); }

  /// All elements.
  std::span<T> span() noexcept { return {data_, count_}; }
  /// All elements, to read.
  std::span<const T> span() const noexcept { return {data_, count_}; }
  /// The first element, page aligned; null where there are none.
  T* data() noexcept { return data_; }
  /// Elements.
  std::size_t size() const noexcept { return count_; }
  /// Unchecked: index < size().
  T& operator[](std::size_t index) noexcept { return data_[index]; }

 private:
  gyre_context_t context_;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// An operation in flight. Waits for it when destroyed; the result is then lost, so wait().
class Request {
 public:
  /// Takes a request of the C interface over; null is one that has finished.
  explicit Request(gyre_request_t request) noexcept : request_(request) {}
  /// `other` is left as one that has finished.
  Request(Request&& other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
  /// The two change places.
  Request& operator=(Request&& other) noexcept {
    std::swap(request_, other.request_);
    return *this;
  }
  ~Request() {
    if (request_) static_cast<void>(gyre_wait(&request_));
  }

  /// Returns when it has finished; throws why it failed. Again: nothing.
  void wait() {
    if (request_) detail::require(gyre_wait(&request_));
  }
  /// Advances it; true when it has finished.
  bool test() {
    if (!request_) return true;
    const gyre_status status = gyre_test(&request_);
    if (status == GYRE_IN_PROGRESS) return false;
    detail::require(status);
    return true;
  }

 private:
  gyre_request_t request_;
};

/// One rank's end of a communicator.
class Communicator {
 public:
  /// Blocks until all ranks have joined or the deadline. 0: GYRE_TIMEOUT_MS.
  Communicator(const Context& context, const gyre_unique_id& id, int rank, int size,
               std::uint32_t timeout_ms = 0) {
    gyre_comm_options options{};
    options.struct_bytes = sizeof options;
    options.timeout_ms = timeout_ms;
    detail::require(gyre_comm_create(context.handle(), &id, rank, size, &options, handle_.put()));
  }

  /// From 0 to size() - 1.
  int rank() const noexcept { return gyre_comm_rank(handle_.get()); }
  /// Ranks.
  int size() const noexcept { return gyre_comm_size(handle_.get()); }
  /// Any thread.
  void abort() { detail::require(gyre_comm_abort(handle_.get())); }
  /// For calls of the C interface; stays owned.
  gyre_comm_t handle() const noexcept { return handle_.get(); }

  /// recv = op over ranks of send; both of one length.
  template <detail::Element T>
  void all_reduce(std::span<const T> send, std::span<T> recv, gyre_op op) {
    start_all_reduce(send, recv, op, nullptr);
  }
  /// The same with one array for both.
  template <detail::Element T>
  void all_reduce(std::span<T> in_place, gyre_op op) {
    start_all_reduce(std::span<const T>(in_place), in_place, op, nullptr);
  }
  /// The same without waiting: both arrays belong to gyre until the request has finished.
  template <detail::Element T>
  [[nodiscard]] Request all_reduce_async(std::span<const T> send, std::span<T> recv, gyre_op op) {
    gyre_request_t request = nullptr;
    start_all_reduce(send, recv, op, &request);
    return Request(request);
  }
  /// recv = this rank's part of the reduction; send holds size() parts of recv's length.
  template <detail::Element T>
  void reduce_scatter(std::span<const T> send, std::span<T> recv, gyre_op op) {
    require_sizes(send.size() == recv.size() * ranks(), "send must be size() times recv");
    detail::require(gyre_reduce_scatter(handle_.get(), buffer(send), buffer(recv), recv.size(),
                                        detail::dtype_of<T>(), op, nullptr, nullptr, nullptr));
  }
  /// recv = every rank's send, in rank order.
  template <detail::Element T>
  void all_gather(std::span<const T> send, std::span<T> recv) {
    require_sizes(recv.size() == send.size() * ranks(), "recv must be size() times send");
    detail::require(gyre_all_gather(handle_.get(), buffer(send), buffer(recv), send.size(),
                                    detail::dtype_of<T>(), nullptr, nullptr, nullptr));
  }
  /// Everybody's data = root's data.
  template <detail::Element T>
  void broadcast(std::span<T> data, int root) {
    detail::require(gyre_broadcast(handle_.get(), buffer(std::span<const T>(data)), buffer(data),
                                   data.size(), detail::dtype_of<T>(), root, nullptr, nullptr,
                                   nullptr));
  }
  /// No rank returns before every rank has entered.
  void barrier() { detail::require(gyre_barrier(handle_.get(), nullptr, nullptr, nullptr)); }

 private:
  template <typename T>
  static gyre_buffer buffer(std::span<T> data) {
    using Plain = std::remove_const_t<T>;
    return {const_cast<Plain*>(data.data()), GYRE_MEMORY_HOST};  // C has one type for both ways
  }
  static void require_sizes(bool ok, const char* text) {
    if (!ok) throw Error(GYRE_INVALID_ARGUMENT, text, -1);
  }
  std::size_t ranks() const { return static_cast<std::size_t>(size()); }

  template <typename T>
  void start_all_reduce(std::span<const T> send, std::span<T> recv, gyre_op op,
                        gyre_request_t* request) {
    require_sizes(send.size() == recv.size(), "send and recv must have one length");
    detail::require(gyre_all_reduce(handle_.get(), buffer(send), buffer(recv), recv.size(),
                                    detail::dtype_of<T>(), op, nullptr, nullptr, request));
  }

  detail::Owner<gyre_comm_t, gyre_comm_destroy> handle_;
};

}  // namespace gyre
