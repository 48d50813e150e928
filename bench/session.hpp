// One run of gyre-bench: starts gyre's ranks, scouts the peers, measures row after row, and fills
// the report. What it prints goes through the two functions it is given.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/peer_field.hpp"
#include "bench/report.hpp"

namespace gyre::bench {

struct SessionInput {
  Options options;
  std::string self;  ///< path of gyre-bench, which is started again as gyre's ranks
  FieldSettings field;
  std::vector<Contender> contenders;
  LimitFigures limits;
  Steadiness* steadiness = nullptr;  ///< outlives the session; none: the cpus are not watched
};

class Session {
 public:
  using Tell = std::function<void(const std::string&)>;
  using RowDone = std::function<void(const Row&)>;

  /// `interrupt` and `report` must outlive it.
  Session(SessionInput input, const Interrupt& interrupt, Report& report, Tell tell,
          RowDone row_done);
  ~Session();

  /// Measures everything. What went wrong is in the report.
  void run();

 private:
  Status start_gyre();
  Status measure(const Case& row_case, std::size_t index, Row& row);
  Status measure_peers(const TurnOrder& order, const Case& row_case, std::size_t index,
                       double gyre_whole_us, Row& row, std::vector<TurnFigure>& ours);
  Status compare(RankSet& peer, TurnOrder order, const Case& row_case, double gyre_whole_us,
                 PeerFigure& figure, std::vector<TurnFigure>& ours);
  Status measure_in_place(const TurnOrder& order, const Case& row_case, std::size_t index,
                          double gyre_whole_us, Row& row);
  Status fill_up(const TurnOrder& order, int turns, std::vector<TurnFigure>& figures);
  Status time_single_calls(TurnOrder order, double whole_us, Row& row,
                           std::vector<TurnFigure>& ours);
  Result<double> estimate_whole_us(Side& side, const TurnOrder& order);
  TurnOrder base_order() const;
  void finish_half(const std::vector<TurnFigure>& figures, const Case& row_case, Half& half);
  void note_wrong(const std::string& who, const std::vector<TurnFigure>& figures,
                  const Case& row_case);
  void fail(const Status& status);

  SessionInput input_;
  const Interrupt& interrupt_;
  Report& report_;
  Tell tell_;
  RowDone row_done_;
  PeerField field_;
  std::unique_ptr<RankSet> gyre_;
  Referee referee_;
};

/// All rows that `options` ask for.
std::vector<Case> cases_of(const Options& options);

}  // namespace gyre::bench
