#include "bench/peer_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace gyre::bench {
namespace {

void add(const LaunchWords& words, const FieldSettings& settings, RankSetPlan& plan) {
  for (std::string word : words.arguments) {
    if (word == "{ranks}") word = std::to_string(settings.ranks);
    plan.command.push_back(word);
  }
  for (const auto& [name, value] : words.environment) plan.environment[name] = value;
}

bool wins_later(const Contender& contender, int variant, std::size_t index) {
  for (std::size_t i = index + 1; i < contender.winners.size(); ++i)
    if (contender.winners[i] == variant) return true;
  return false;
}

}  // namespace

std::vector<int> binding(const FieldSettings& settings) {
  std::vector<int> cpus = settings.cpus;
  const auto ranks = static_cast<std::size_t>(settings.ranks);
  if (cpus.size() < ranks) return {};
  cpus.resize(ranks);
  return cpus;
}

RankSetPlan plan_of(const Peer& peer, const Variant& variant, const FieldSettings& settings,
                    const std::string& scratch) {
  RankSetPlan plan;
  plan.library = peer.name;
  plan.variant = variant.name;
  plan.ranks = settings.ranks;
  plan.cpus = binding(settings);
  plan.turn_timeout_ms = settings.turn_timeout_ms;
  plan.scratch = scratch;
  plan.stop_between_orders = peer.stop_between_orders;
  plan.one_command_per_rank = peer.launch.arguments.empty();
  add(peer.launch, settings, plan);
  if (static_cast<std::size_t>(settings.ranks) > settings.cpus.size())
    add(peer.oversubscribed, settings, plan);
  add(variant.words, settings, plan);
  plan.command.push_back(peer.program);
  return plan;
}

Result<std::vector<Contender>> contenders_of(const std::vector<std::string>& names,
                                             const std::vector<Peer>& peers,
                                             const std::vector<Variant>& variants) {
  std::vector<Contender> contenders;
  std::string known;
  for (const auto& peer : peers) known += (known.empty() ? "" : ", ") + peer.name;
  for (const auto& name : names) {
    const auto peer =
        std::find_if(peers.begin(), peers.end(), [&](const Peer& row) { return row.name == name; });
    if (peer == peers.end())
      return Status(Code::invalid_argument, fmt::format("--vs {}: unknown peer; there are {}", name,
                                                        known.empty() ? "none" : known));
    if (peer->program.empty())
      return Status(Code::unsupported, fmt::format("--vs {}: not installed when gyre was built; {}",
                                                   name, peer->install));
    Contender contender;
    contender.peer = *peer;
    for (const auto& variant : variants)
      if (variant.peer == name) contender.variants.push_back(variant);
    if (contender.variants.empty()) contender.variants.push_back({name, "default", {}});
    contenders.push_back(std::move(contender));
  }
  return contenders;
}

PeerField::PeerField(std::vector<Contender> contenders, FieldSettings settings,
                     const Interrupt& interrupt)
    : contenders_(std::move(contenders)), settings_(std::move(settings)), interrupt_(interrupt) {}

Result<std::unique_ptr<RankSet>> PeerField::start(Contender& contender, int variant) {
  const std::string scratch = fmt::format("{}/{}", settings_.scratch, started_++);
  std::error_code error;
  if (!std::filesystem::create_directory(scratch, error))
    return system_error("making " + scratch, error.value());
  auto set =
      RankSet::start(plan_of(contender.peer, contender.variants[static_cast<unsigned>(variant)],
                             settings_, scratch),
                     interrupt_);
  if (set) contender.version = (*set)->version();
  return set;
}

Status PeerField::scout_all(const std::vector<Case>& cases, Referee& referee,
                            const std::function<void(const std::string&)>& tell,
                            std::vector<std::string>& notes) {
  ScoutLimits limits;
  limits.untouched = settings_.untouched;
  for (Contender& contender : contenders_) {
    ScoutTimes best;
    Status last;
    for (std::size_t v = 0; v < contender.variants.size(); ++v) {
      tell(fmt::format("scouting {} {} of {}: {}", contender.peer.name, v + 1,
                       contender.variants.size(), contender.variants[v].name));
      ScoutTimes times;
      auto set = start(contender, static_cast<int>(v));
      Status status = set.status();
      if (set) status = scout(**set, cases, limits, referee, best, times);
      contender.times.push_back(std::move(times));
      if (status.code() == Code::aborted) return status;
      if (status) continue;
      last = status;
      notes.push_back(fmt::format("{}, variant {}: {}", contender.peer.name,
                                  contender.variants[v].name, status.message()));
    }
    contender.winners = fastest(contender.times, cases.size());
    const bool none = std::all_of(contender.winners.begin(), contender.winners.end(),
                                  [](int winner) { return winner < 0; });
    if (none && !last) contender.incomplete = "no variant could be measured: " + last.message();
  }
  return {};
}

Result<RankSet*> PeerField::champion(Contender& contender, std::size_t index) {
  const int winner = contender.winners[index];
  if (winner < 0) return nullptr;
  auto& set = contender.running[winner];
  if (!set) {
    auto started = start(contender, winner);
    if (!started) {
      contender.running.erase(winner);
      return started.status();
    }
    set = std::move(*started);
  }
  return set.get();
}

void PeerField::retire(std::size_t index) {
  for (Contender& contender : contenders_)
    std::erase_if(contender.running, [&](const auto& entry) {
      return !entry.second->usable() || !contender.incomplete.empty() ||
             !wins_later(contender, entry.first, index);
    });
}

std::vector<Side*> PeerField::sleepers(const Side* playing) const {
  std::vector<Side*> sides;
  for (const Contender& contender : contenders_)
    for (const auto& [variant, set] : contender.running)
      if (set.get() != playing) sides.push_back(set.get());
  return sides;
}

}  // namespace gyre::bench
