#include "tests/sim/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tests/sim/user.hpp"

namespace gyre::sim {
namespace {

using transport::SimNetwork;
using transport::SimOutcome;
using transport::SimPause;
using transport::SimWorld;
using Users = std::vector<std::unique_ptr<User>>;

constexpr std::uint64_t steps_max = 5'000'000;
/// What steps, delays and notices may add to a deadline.
constexpr Nanoseconds grace_ns = 5'000'000'000;

bool stopped_for_good(const SimNetwork& network, int rank) {
  return network.stopped_until(rank) == SimPause::forever;
}

/// Whether somebody really kept others waiting without end.
bool caused_a_wait(const Scenario& scenario, SimNetwork& network) {
  for (int rank = 0; rank < network.ranks(); ++rank)
    if (!network.alive(rank) || stopped_for_good(network, rank)) return true;
  return scenario.odd_rank >= 0;
}

bool is_at_fault(const Scenario& scenario, const SimNetwork& network, int rank) {
  if (rank < 0 || rank >= network.ranks()) return false;
  return !network.alive(rank) || stopped_for_good(network, rank) || rank == scenario.odd_rank;
}

std::string check_blame(const Scenario& scenario, SimNetwork& network,
                        const transport::Failure& failure) {
  const bool known = failure.rank >= 0 && failure.rank < network.ranks();
  const bool dead = known && !network.alive(failure.rank);
  const bool odd = scenario.odd_rank >= 0 &&
                   (failure.rank == scenario.odd_rank || failure.reporter == scenario.odd_rank);
  bool right = false;
  switch (failure.code) {
    case Code::peer_failed: right = dead; break;
    // Whether it names the one at fault is counted, see is_at_fault.
    case Code::timeout: right = caused_a_wait(scenario, network); break;
    case Code::mismatch: right = odd; break;
    case Code::out_of_resources: right = network.coverage().imports_refused > 0; break;
    default: break;
  }
  if (right) return "";
  return fmt::format(
      "failure \"{}\" blames rank {}, reported by rank {}, which is not what happened",
      gyre::name_of(failure.code), failure.rank, failure.reporter);
}

std::string check_results(const Scenario& scenario, const User& user, int rank) {
  for (std::size_t i = 0; i < user.results().size(); ++i) {
    const CallResult& result = user.results()[i];
    const bool started = result.state != CallResult::State::not_started;
    if (result.ends != (started ? 1 : 0))
      return fmt::format("rank {}: call {} has ended {} times", rank, i + 1, result.ends);
    if (result.waits_from > 0 &&
        result.ended_at > result.waits_from + scenario.timeout_ns + grace_ns)
      return fmt::format("rank {}: call {} has ended {} ns after its deadline", rank, i + 1,
                         result.ended_at - result.waits_from - scenario.timeout_ns);
    if (result.state == CallResult::State::failed && result.status.ok())
      return fmt::format("rank {}: call {} has failed without a reason", rank, i + 1);
  }
  return "";
}

std::string check_failures(const Scenario& scenario, SimNetwork& network, const Users& users) {
  const transport::Failure* first = nullptr;
  for (const auto& user : users) {
    const transport::Failure& failure = user->failure();
    if (failure.code == Code::ok) continue;
    if (std::string text = check_blame(scenario, network, failure); !text.empty()) return text;
    if (first && (first->code != failure.code || first->rank != failure.rank))
      return "two ranks were given different reasons";
    first = &failure;
  }
  return "";
}

std::string check_same_bits(const Scenario& scenario, const Users& users) {
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) {
    if (scenario.calls[i].call.collective != Collective::all_reduce) continue;
    const CallResult* first = nullptr;
    for (const auto& user : users) {
      const CallResult& result = user->results()[i];
      if (result.state != CallResult::State::ok) continue;
      if (first && first->output != result.output && scenario.odd_rank < 0)
        return fmt::format("call {} ({}): ranks have different bits", i + 1, result.algorithm);
      first = &result;
    }
  }
  return "";
}

std::string judge(const Scenario& scenario, SimNetwork& network, const Users& users,
                  const SimOutcome& outcome) {
  if (!network.violations().empty()) return network.violations().front();
  for (const auto& user : users)
    if (std::string text = user->check_memory(); !text.empty()) return text;
  if (outcome.end != SimOutcome::End::all_done)
    return fmt::format("the run did not end: {}", name_of(outcome.end));
  for (int rank = 0; rank < network.ranks(); ++rank) {
    if (!network.alive(rank) || stopped_for_good(network, rank)) continue;
    const User& user = *users[static_cast<std::size_t>(rank)];
    if (std::string text = check_results(scenario, user, rank); !text.empty()) return text;
  }
  if (std::string text = check_failures(scenario, network, users); !text.empty()) return text;
  return check_same_bits(scenario, users);
}

}  // namespace

Verdict run(const Scenario& scenario) {
  SimNetwork network(scenario.network);
  Users users;
  std::vector<SimWorld::Program> programs;
  for (int rank = 0; rank < network.ranks(); ++rank) {
    users.push_back(std::make_unique<User>(scenario, network, rank));
    programs.push_back([user = users.back().get()](Nanoseconds now) { return user->step(now); });
  }
  const auto calls = static_cast<Nanoseconds>(scenario.calls.size());
  SimWorld world(network, std::move(programs));
  Verdict verdict;
  verdict.outcome = world.run((calls + 1) * (scenario.timeout_ns + grace_ns), steps_max);
  verdict.complaint = judge(scenario, network, users, verdict.outcome);
  verdict.trace_hash = network.trace_hash();
  verdict.coverage = network.coverage();
  for (int rank = 0; rank < network.ranks(); ++rank)
    verdict.actions.push_back(network.actions(rank));
  for (const auto& user : users) {
    if (user->failure().code == Code::timeout) {
      ++verdict.timeouts;
      if (!is_at_fault(scenario, network, user->failure().rank)) ++verdict.misblamed;
    }
    for (const auto& result : user->results()) {
      if (result.state == CallResult::State::failed) ++verdict.failed_calls;
      if (result.state != CallResult::State::ok) continue;
      ++verdict.ok_calls;
      ++verdict.algorithms[result.algorithm];
    }
  }
  return verdict;
}

}  // namespace gyre::sim
