// The peers of a comparison: which variant of each stands at each size, and the processes of those
// that are needed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/peer_table.hpp"
#include "bench/rank_set.hpp"
#include "bench/report.hpp"
#include "bench/scouting.hpp"

namespace gyre::bench {

/// One peer with all its variants.
struct Contender {
  Peer peer;
  std::vector<Variant> variants;
  std::vector<ScoutTimes> times;                    ///< by variant
  std::vector<int> winners;                         ///< by case; -1: none has this case
  std::map<int, std::unique_ptr<RankSet>> running;  ///< by variant
  std::string version;
  std::string incomplete;  ///< why it could not finish; "" while it can
};

/// What all rank sets of a run have in common.
struct FieldSettings {
  int ranks = 1;
  std::vector<int> cpus;  ///< allowed ones
  std::string scratch;
  std::uint32_t turn_timeout_ms = 60'000;
  bool untouched = false;
};

/// Ranks are bound one per cpu where there are enough cpus, else not at all: for all libraries.
std::vector<int> binding(const FieldSettings& settings);

/// How a peer's variant is started.
RankSetPlan plan_of(const Peer& peer, const Variant& variant, const FieldSettings& settings,
                    const std::string& scratch);

/// The chosen peers, in the user's order; an error says how to install what is missing.
Result<std::vector<Contender>> contenders_of(const std::vector<std::string>& names,
                                             const std::vector<Peer>& peers,
                                             const std::vector<Variant>& variants);

class PeerField {
 public:
  /// `interrupt` must outlive it.
  PeerField(std::vector<Contender> contenders, FieldSettings settings, const Interrupt& interrupt);

  /// Runs every variant through `cases`. `tell` gets a word on what is being done. Only an
  /// interrupt is an error: a variant that fails is noted, a peer all of whose variants fail is
  /// incomplete.
  Status scout_all(const std::vector<Case>& cases, Referee& referee,
                   const std::function<void(const std::string&)>& tell,
                   std::vector<std::string>& notes);

  /// The running processes of the variant that stands for `contender` in `index`; they are started
  /// if need be. nullptr where the peer has no such case.
  Result<RankSet*> champion(Contender& contender, std::size_t index);

  /// Ends what no case behind `index` needs.
  void retire(std::size_t index);

  /// Everybody who is there and sleeps while `playing` has its turn.
  std::vector<Side*> sleepers(const Side* playing) const;

  std::vector<Contender>& contenders() { return contenders_; }

 private:
  Result<std::unique_ptr<RankSet>> start(Contender& contender, int variant);

  std::vector<Contender> contenders_;
  FieldSettings settings_;
  const Interrupt& interrupt_;
  int started_ = 0;
};

}  // namespace gyre::bench
