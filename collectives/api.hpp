// What stands behind the C API's opaque handles, and how its functions report errors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.hpp"
#include "collectives/context.hpp"
#include "collectives/member.hpp"
#include "gyre/gyre.h"

struct gyre_context {
  std::unique_ptr<gyre::collectives::Context> context;
};

struct gyre_comm {
  gyre_context_t context = nullptr;
  std::unique_ptr<gyre::collectives::Member> member;
  std::int64_t timeout_ns = 0;  ///< of an operation that names none
  int requests = 0;             ///< handed out and not yet waited for
};

struct gyre_request {
  gyre_comm_t comm = nullptr;
  std::uint64_t sequence = 0;
};

namespace gyre::collectives {

/// Remembers `status` as the calling thread's last error and gives its code.
gyre_status report(const Status& status);

/// The calling thread's last error, for gyre_last_error: the C API's one piece of thread state.
const Status& last_error();

/// Runs the body of an API function: no exception leaves the library.
template <typename Body>
gyre_status guarded(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return report(Status(Code::out_of_resources, "out of memory"));
  } catch (const std::exception& error) {
    return report(Status(Code::internal, error.what()));
  }
}

/// Refuses an options struct that does not say its size; NULL is all defaults.
template <typename Options>
Status check_options(const Options* options) {
  if (!options || options->struct_bytes >= sizeof(options->struct_bytes)) return {};
  return Status(
      Code::invalid_argument,
      "an options struct has struct_bytes = 0: set it to sizeof the struct and zero the rest");
}

/// A field of an options struct that may be older, and so shorter, than this library's.
template <typename Options, typename Field>
Field option(const Options* options, Field Options::*field, Field fallback) {
  if (!options) return fallback;
  const auto* begin = reinterpret_cast<const char*>(options);
  const auto* end = reinterpret_cast<const char*>(&(options->*field) + 1);
  if (static_cast<std::size_t>(end - begin) > options->struct_bytes) return fallback;
  const Field value = options->*field;
  return value == Field{} ? fallback : value;
}

}  // namespace gyre::collectives
