#include "base/status.hpp"

#include <system_error>

namespace gyre {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid argument";
    case Code::unsupported: return "unsupported";
    case Code::mismatch: return "mismatch";
    case Code::peer_failed: return "peer failed";
    case Code::timeout: return "timeout";
    case Code::aborted: return "aborted";
    case Code::out_of_resources: return "out of resources";
    case Code::refused: return "refused";
    case Code::system: return "system error";
    case Code::internal: return "internal error";
  }
  return "?";
}

const std::string& Status::message() const {
  static const std::string none;
  return detail_ ? detail_->message : none;
}

Status Status::within(std::string_view context) const {
  if (ok()) return *this;
  std::string message(context);
  message += ": ";
  message += detail_->message;
  return Status(detail_->code, std::move(message), detail_->rank);
}

Status system_error(std::string_view what, int error) {
  std::string message(what);
  message += ": ";
  message += std::generic_category().message(error);
  return Status(Code::system, std::move(message));
}

}  // namespace gyre
