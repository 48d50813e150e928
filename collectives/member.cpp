#include "collectives/member.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/cpu_caches.hpp"

namespace gyre::collectives {

// ---- Peers' memory ------------------------------------------------------------------------------

ExchangeImporter::ExchangeImporter(transport::SegmentExchange& exchange,
                                   std::vector<transport::ExchangeAddress> addresses)
    : exchange_(exchange), addresses_(std::move(addresses)), kept_(addresses_.size()) {}

transport::Mapping ExchangeImporter::map(int peer, const transport::MappedRef& ref,
                                         std::size_t bytes) {
  using State = transport::Mapping::State;
  const transport::SegmentName name{ref.segment, ref.generation};
  auto& kept = kept_[static_cast<std::size_t>(peer)];
  auto known =
      std::find_if(kept.begin(), kept.end(), [&](const Kept& entry) { return entry.name == name; });
  if (known == kept.end()) {
    std::erase_if(kept, [](const Kept& entry) { return entry.mapping->withdrawn(); });
    auto lookup = exchange_.lookup(addresses_[static_cast<std::size_t>(peer)], name);
    if (lookup.state == transport::SegmentLookup::State::pending) return {State::pending, nullptr};
    if (lookup.state == transport::SegmentLookup::State::refused) return {State::refused, nullptr};
    if (kept.size() == kept_max) kept.erase(kept.begin());
    known = kept.insert(kept.end(), {name, std::move(lookup.mapping)});
  }
  // The peer says where in its segment its buffer lies; believe it only within the segment.
  const std::size_t whole = known->mapping->bytes();
  if (ref.offset > whole || bytes > whole - ref.offset) return {State::refused, nullptr};
  return {State::ready, known->mapping->data() + ref.offset};
}

// ---- Joining ------------------------------------------------------------------------------------

Member::Member(Context& context, const Request& request)
    : context_(context), log_(context.log().of_rank(request.rank)) {}

Result<std::unique_ptr<Member>> Member::join(Context& context, const Request& request) {
  std::unique_ptr<Member> member(new Member(context, request));
  if (Status status = member->open(request); !status) {
    member->log_.error("communicator not created: {}", status.message());
    return status.within("communicator");
  }
  return member;
}

Status Member::open(const Request& request) {
  const Deadline deadline = Deadline::after(monotonic_now(), request.timeout_ns);
  transport::Group::Request group;
  group.id = request.id;
  group.rank = request.rank;
  group.size = request.size;
  group.deadline = deadline;
  if (request.rank == 0) {
    group.listener = context_.take_listener(request.id);
    if (!group.listener) {
      return Status(Code::invalid_argument,
                    "rank 0 must use the context that made the unique id, and each id only once");
    }
  }
  auto joined = transport::Group::join(context_.control(), std::move(group));
  if (!joined) return joined.status();
  group_ = std::move(*joined);

  const Settings& settings = context_.settings();
  RankRecord mine;
  mine.exchange = context_.exchange().address();
  mine.cpus = CpuMask::current();
  mine.strict = settings.check_strict;
  mine.tuning.forced = settings.algorithm;
  const transport::SlotShape shape = transport::shm::default_shape(request.size);
  mine.tuning.slot_bytes =
      settings.slot_bytes.value_or(static_cast<std::uint32_t>(shape.slot_bytes));
  mine.tuning.slots =
      static_cast<int>(settings.slots.value_or(static_cast<std::uint32_t>(shape.slots)));
  auto gathered = group_->all_gather(mine.encode(), deadline);
  if (!gathered) return gathered.status();
  std::vector<RankRecord> records;
  for (const auto& bytes : *gathered) {
    auto record = RankRecord::decode(bytes);
    if (!record) return record.status();
    records.push_back(std::move(*record));
  }
  return attach(request, deadline, records);
}

Status Member::attach(const Request& request, Deadline deadline,
                      const std::vector<RankRecord>& records) {
  const Tuning& tuning = records.front().tuning;
  const transport::SlotShape shape{tuning.slot_bytes, tuning.slots};
  const auto layout = transport::shm::SegmentLayout::make(request.size, shape, shape);
  if (!layout) return layout.status();
  std::shared_ptr<transport::shm::Segment> segment;
  if (request.rank == 0) {
    auto created = context_.create_segment(*layout);
    if (!created) return created.status();
    segment = std::move(*created);
  }
  auto shared = group_->share(segment ? segment->fd() : -1, layout->total_bytes, deadline);
  if (!shared) return shared.status();
  if (!segment) {
    auto attached = context_.attach_segment(shared->get(), *layout);
    if (!attached) return attached.status();
    segment = std::move(*attached);
  }

  std::vector<transport::ExchangeAddress> addresses;
  CpuMask cpus;
  for (const RankRecord& record : records) {
    addresses.push_back(record.exchange);
    cpus.add(record.cpus);
  }
  importer_ = std::make_unique<ExchangeImporter>(context_.exchange(), std::move(addresses));
  const std::string note = segment->note();
  auto endpoint =
      transport::shm::ShmEndpoint::create(std::move(segment), request.rank, importer_.get());
  if (!endpoint) return endpoint.status();
  endpoint_ = std::move(*endpoint);
  progress_number_ = context_.exchange().on_progress([this] { endpoint_->wake(); });
  group_->watch(
      [this](const transport::GroupFailure& failure) {
        endpoint_->abort(failure.what);
        log_.debug("control plane: {}", failure.text);
      },
      [this](int) { endpoint_->wake(); });

  wait_policy_ = wait_policy(request.size, cpus.count());
  if (context_.settings().spin_us) wait_policy_.spin_ns = *context_.settings().spin_us * 1000ll;
  EngineOptions options;
  options.tuning = tuning;
  options.strict = records.front().strict;
  if (const int cpu = sched_getcpu(); cpu >= 0)
    options.last_level_cache_bytes = read_cpu_caches({{cpu}}).last_level;
  communicator_ = std::make_unique<Communicator>(*endpoint_, std::move(options));
  log_.info("joined {} ranks over shared memory on {} cores; slots {} x {} bytes {}", request.size,
            cpus.count(), tuning.slots, tuning.slot_bytes, note);
  return {};
}

Member::~Member() {
  // The callbacks use the endpoint: they end before it does.
  if (progress_number_ != 0) context_.exchange().stop_progress(progress_number_);
  group_.reset();
  communicator_.reset();
}

// ---- Working ------------------------------------------------------------------------------------

transport::MappedRef Member::find_memory(const void* data, std::size_t bytes) {
  const std::uint64_t version = context_.memory().version();
  if (version == 1) return {};  // nothing has ever been registered
  for (const Found& found : found_) {
    if (found.data == data && found.bytes == bytes && found.version == version) return found.ref;
  }
  Found& found = found_[next_found_++ % 2];
  found = {data, bytes, version, context_.memory().find(data, bytes)};
  return found.ref;
}

Status Member::wait(std::uint64_t sequence) {
  Status status = collectives::wait(*communicator_, sequence, wait_policy_);
  return status ? status : log_failure(std::move(status));
}

bool Member::test(std::uint64_t sequence) { return poll(*communicator_, sequence); }

Status Member::log_failure(Status status) {
  if (!std::exchange(failure_logged_, true)) {
    log_.error("{}; the last operations of this rank:\n{}", status.message(),
               communicator_->report());
  }
  return status;
}

void Member::abort() {
  transport::Failure failure;
  failure.code = Code::aborted;
  failure.rank = failure.reporter = endpoint_->rank();
  endpoint_->abort(failure);
  group_->report({failure, "gyre_comm_abort was called"});
}

Status Member::leave() {
  Status status;
  const std::uint64_t last = communicator_->operations_started();
  if (last > communicator_->operations_finished() && !endpoint_->aborted()) status = wait(last);
  endpoint_->depart();
  group_->goodbye();
  return status;
}

}  // namespace gyre::collectives
