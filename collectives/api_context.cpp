// The C API: contexts, memory, errors.
#include <sys/auxv.h>
#include <unistd.h>

#include <string>

#include "base/environment.hpp"
#include "base/version.hpp"
#include "collectives/api.hpp"
#include "collectives/tuner.hpp"

using gyre::Code;
using gyre::Status;
using gyre::collectives::guarded;
using gyre::collectives::report;

namespace gyre::collectives {

namespace {
thread_local Status thread_error;
}  // namespace

gyre_status report(const Status& status) {
  if (!status.ok()) thread_error = status;
  return static_cast<gyre_status>(status.code());
}

const Status& last_error() { return thread_error; }

namespace {

Status check_context(gyre_context_t context) {
  if (!context) return Status(Code::invalid_argument, "the context is NULL");
  return context->context->check_process();
}

Result<LogLevel> level_of(const char* name, LogLevel fallback) {
  if (!name) return fallback;
  for (const auto& row : log_levels)
    if (row.name == name) return row.level;
  return Status(Code::invalid_argument,
                std::string("log_level: \"") + name + "\" is none of error, warn, info, debug");
}

Status create_context(const gyre_context_options* options, gyre_context_t* context) {
  if (!context) return Status(Code::invalid_argument, "gyre_context_create: context is NULL");
  *context = nullptr;
  if (Status status = check_options(options); !status) return status;
  Result<Settings> settings =
      parse_environment(environment_block(environ), getauxval(AT_SECURE) != 0);
  if (!settings) return settings.status();
  if (!settings->algorithm.empty()) {
    if (Status status = check_algorithm(settings->algorithm); !status) return status;
  }
  const char* name =
      option(options, &gyre_context_options::log_level, static_cast<const char*>(nullptr));
  const Result<LogLevel> level = level_of(name, settings->log_level);
  if (!level) return level.status();
  auto made = Context::create(*settings, Log(*level));
  if (!made) return made.status();
  *context = new gyre_context{std::move(*made)};
  return {};
}

}  // namespace
}  // namespace gyre::collectives

using gyre::collectives::check_context;

gyre_status gyre_context_create(const gyre_context_options* options, gyre_context_t* context) {
  return guarded([&] { return report(gyre::collectives::create_context(options, context)); });
}

gyre_status gyre_context_destroy(gyre_context_t context) {
  return guarded([&] {
    if (!context) return GYRE_OK;
    if (context->context->communicators() > 0) {
      return report(Status(Code::invalid_argument,
                           "gyre_context_destroy: communicators of this context are alive; destroy "
                           "them first"));
    }
    if (context->context->memory().size() > 0) {
      return report(
          Status(Code::invalid_argument,
                 "gyre_context_destroy: memory of this context is allocated or registered; "
                 "gyre_free or gyre_deregister it first"));
    }
    delete context;
    return GYRE_OK;
  });
}

gyre_status gyre_get_unique_id(gyre_context_t context, gyre_unique_id* id) {
  return guarded([&] {
    if (Status status = check_context(context); !status) return report(status);
    if (!id) return report(Status(Code::invalid_argument, "gyre_get_unique_id: id is NULL"));
    const auto made = context->context->make_id();
    if (!made) return report(made.status());
    const auto encoded = made->encode();
    if (!encoded) return report(encoded.status());
    static_assert(sizeof id->bytes == sizeof *encoded);
    std::copy_n(reinterpret_cast<const unsigned char*>(encoded->data()), encoded->size(),
                id->bytes);
    return GYRE_OK;
  });
}

gyre_status gyre_allocate(gyre_context_t context, size_t bytes, void** data) {
  return guarded([&] {
    if (Status status = check_context(context); !status) return report(status);
    if (!data) return report(Status(Code::invalid_argument, "gyre_allocate: data is NULL"));
    const auto memory = context->context->memory().allocate(bytes);
    if (!memory) return report(memory.status());
    *data = *memory;
    return GYRE_OK;
  });
}

gyre_status gyre_free(gyre_context_t context, void* data) {
  return guarded([&] {
    if (!data) return GYRE_OK;
    if (Status status = check_context(context); !status) return report(status);
    return report(context->context->memory().free(data));
  });
}

gyre_status gyre_register(gyre_context_t context, void* data, size_t bytes, int memfd,
                          size_t offset) {
  return guarded([&] {
    if (Status status = check_context(context); !status) return report(status);
    return report(context->context->memory().add(data, bytes, memfd, offset));
  });
}

gyre_status gyre_deregister(gyre_context_t context, void* data) {
  return guarded([&] {
    if (Status status = check_context(context); !status) return report(status);
    return report(context->context->memory().remove(data));
  });
}

const char* gyre_last_error(void) { return gyre::collectives::last_error().message().c_str(); }

int gyre_error_rank(void) { return gyre::collectives::last_error().rank(); }

const char* gyre_status_name(gyre_status status) {
  if (status == GYRE_IN_PROGRESS) return "in progress";
  return gyre::name_of(static_cast<Code>(status)).data();
}

const char* gyre_version(void) { return gyre::version; }
