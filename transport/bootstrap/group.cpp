#include "transport/bootstrap/group.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/types.hpp"
#include "transport/bootstrap/group_state.hpp"

namespace gyre::transport {
namespace {

Status check(const ControlThread& control, const Group::Request& request) {
  const auto invalid = [](std::string why) {
    return Status(Code::invalid_argument, std::move(why));
  };
  if (!control.in_its_process())
    return invalid("this context is of the parent process; make a new one after fork");
  if (request.size < 1 || request.size > ranks_max)
    return invalid(fmt::format("{} ranks: 1 to {} are possible", request.size, ranks_max));
  if (request.rank < 0 || request.rank >= request.size)
    return invalid(fmt::format("rank {} of {}: ranks are 0 to {}", request.rank, request.size,
                               request.size - 1));
  if (request.rank != 0 && request.listener)
    return invalid("only rank 0 has the listener of a unique id");
  const bool listens = request.listener && request.listener->id() == request.id;
  if (request.rank == 0 && request.size > 1 && !listens)
    return invalid(
        "rank 0 must join in the process, and with the context, that made the unique "
        "id, and an id serves one communicator");
  return {};
}

}  // namespace

Group::Group(ControlThread& control, int rank, int size)
    : control_(control), rank_(rank), size_(size) {}

Result<std::unique_ptr<Group>> Group::join(ControlThread& control, Request request) {
  if (auto status = check(control, request); !status) return status;
  const Deadline deadline = request.deadline;
  std::unique_ptr<Group> group(new Group(control, request.rank, request.size));
  const auto done = std::make_shared<Completion<Result<GroupState::Records>>>();
  control.run([&] {
    group->state_ = std::make_unique<GroupState>(control, std::move(request));
    group->state_->exchange({}, deadline, done);
  });
  if (const auto joined = done->wait(); !joined) return joined.status();
  return group;
}

Group::~Group() {
  control_.run([this] { state_.reset(); });
}

Result<std::vector<std::vector<std::byte>>> Group::all_gather(std::span<const std::byte> record,
                                                              Deadline deadline) {
  if (record.size() > record_bytes_max)
    return Status(Code::invalid_argument, fmt::format("a record has {} bytes, at most {} are "
                                                      "possible",
                                                      record.size(), record_bytes_max));
  if (!control_.in_its_process())
    return Status(Code::invalid_argument, "this group is of the parent process");
  const auto done = std::make_shared<Completion<Result<GroupState::Records>>>();
  control_.run([&] { state_->exchange(record, deadline, done); });
  return done->wait();
}

Result<UniqueFd> Group::share(int memfd, std::size_t bytes, Deadline deadline) {
  if (!control_.in_its_process())
    return Status(Code::invalid_argument, "this group is of the parent process");
  Result<AbstractName> offered = AbstractName{};
  control_.run([&] {
    offered = state_->offer(memfd, bytes);
    // The others wait for our word.
    if (!offered)
      state_->report(failure_of(offered.status().code(), rank_, offered.status().message()));
  });
  if (!offered) return offered.status();
  const auto names = all_gather(*offered, deadline);
  if (!names) return names.status();
  AbstractName giver = {};
  if (names->front().size() != giver.size())
    return Status(Code::mismatch,
                  "rank 0 does not share memory at this point; all ranks must make "
                  "the same calls in the same order",
                  0);
  std::copy(names->front().begin(), names->front().end(), giver.begin());
  const auto done = std::make_shared<Completion<Result<UniqueFd>>>();
  control_.run([&] { state_->share(giver, deadline, done); });
  return done->wait();
}

void Group::watch(OnFailure on_failure, OnDeparted on_departed) {
  control_.run([&] { state_->watch(std::move(on_failure), std::move(on_departed)); });
}

void Group::report(GroupFailure failure) {
  // The destructor's task can only come after this one.
  control_.post([state = state_.get(), failure = std::move(failure)] { state->report(failure); });
}

void Group::goodbye() {
  control_.run([this] { state_->goodbye(); });
}

}  // namespace gyre::transport
