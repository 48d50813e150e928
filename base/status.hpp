// Errors are values. The function that first detects an error words it, with cause and fix; callers
// pass it on. A Status that is ok costs one null pointer, so hot paths may return it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gyre {

enum class Code : int {
  ok = 0,
  invalid_argument = 1,  ///< the caller's fault: null, overlap, range, unknown name
  unsupported = 2,       ///< a valid request that this build or machine cannot serve
  mismatch = 3,          ///< ranks disagree about a call
  peer_failed = 4,       ///< a rank died or closed its connection
  timeout = 5,           ///< a deadline passed
  aborted = 6,           ///< somebody called abort
  out_of_resources = 7,  ///< memory, descriptors, slots
  refused = 8,           ///< authentication or permission
  system = 9,            ///< the operating system returned an error; the message has errno's text
  internal = 10,         ///< a defect in gyre
};

std::string_view name_of(Code code);

/// Outcome of a call. Copyable, cheap when ok. Not synchronised: one thread at a time.
class [[nodiscard]] Status {
 public:
  static constexpr int no_rank = -1;

  Status() = default;
  /// An error. `rank` is the rank that caused it where one is known.
  Status(Code code, std::string message, int rank = no_rank)
      : detail_(std::make_shared<const Detail>(Detail{code, rank, std::move(message)})) {}

  bool ok() const { return !detail_; }
  explicit operator bool() const { return ok(); }
  Code code() const { return detail_ ? detail_->code : Code::ok; }
  int rank() const { return detail_ ? detail_->rank : no_rank; }
  const std::string& message() const;

  /// The same error with "`context`: " put before its message; ok stays ok.
  Status within(std::string_view context) const;

 private:
  struct Detail {
    Code code;
    int rank;
    std::string message;
  };
  std::shared_ptr<const Detail> detail_;
};

/// `Status` for errno `error`: "`what`: No such file or directory".
Status system_error(std::string_view what, int error);

/// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace gyre
