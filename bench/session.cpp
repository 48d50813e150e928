#include "bench/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bench/turn.hpp"

namespace gyre::bench {
namespace {

constexpr std::uint64_t fill_seed = 1;
constexpr std::uint64_t warm_up_max = 5;
constexpr std::uint64_t pilot_iterations = 4;
constexpr double single_calls_us = 100'000;  ///< how long the pass of single calls should last
constexpr std::size_t notes_max = 50;

}  // namespace

std::vector<Case> cases_of(const Options& o) {
  std::vector<Case> cases;
  for (const DataType dtype : o.dtypes) {
    const auto sizes = sizes_of(o, dtype);
    if (!sizes) continue;  // parse_line has refused what has none
    for (const ReduceOp op : o.ops)
      for (const std::uint64_t bytes : *sizes) {
        Case row;
        row.bytes = bytes;
        row.operation.count = count_of(o.collective, dtype, bytes, o.ranks);
        row.operation.seed = fill_seed;
        row.operation.root = o.root;
        row.operation.collective = o.collective;
        row.operation.dtype = dtype;
        row.operation.op = op;
        row.operation.registered = o.registered;
        row.operation.nonblocking = !o.blocking;
        cases.push_back(row);
      }
  }
  return cases;
}

Session::Session(SessionInput input, const Interrupt& interrupt, Report& report, Tell tell,
                 RowDone row_done)
    : input_(std::move(input)),
      interrupt_(interrupt),
      report_(report),
      tell_(std::move(tell)),
      row_done_(std::move(row_done)),
      field_(std::move(input_.contenders), input_.field, interrupt) {
  referee_.now_ns = monotonic_ns;
  referee_.steadiness = input_.steadiness;
}

Session::~Session() = default;

Status Session::start_gyre() {
  const Options& o = input_.options;
  RankSetPlan plan;
  plan.library = "gyre";
  plan.ranks = o.ranks;
  plan.cpus = binding(input_.field);
  plan.turn_timeout_ms = o.timeout_ms;
  plan.scratch = input_.field.scratch + "/gyre";
  plan.one_command_per_rank = !o.threads;
  plan.command = {input_.self, o.threads ? "rank-threads" : "rank"};
  if (o.threads) plan.command.insert(plan.command.end(), {"--size", std::to_string(o.ranks)});
  std::error_code error;
  if (!std::filesystem::create_directory(plan.scratch, error))
    return system_error("making " + plan.scratch, error.value());
  auto started = RankSet::start(plan, interrupt_);
  if (!started) return started.status();
  gyre_ = std::move(*started);
  return {};
}

void Session::run() {
  tell_("starting gyre's ranks");
  if (const auto status = start_gyre(); !status) return fail(status);
  const auto cases = cases_of(input_.options);
  if (const auto status = field_.scout_all(cases, referee_, tell_, report_.notes); !status)
    return fail(status);
  for (const Contender& contender : field_.contenders()) {
    PeerSummary summary;
    summary.peer = contender.peer.name;
    report_.peers.push_back(summary);
  }
  Status status;
  for (std::size_t i = 0; i < cases.size() && status; ++i) {
    tell_(fmt::format("row {} of {}: {}", i + 1, cases.size(), size_text(cases[i].bytes)));
    Row row;
    status = measure(cases[i], i, row);
    if (status) {
      report_.rows.push_back(row);
      row_done_(row);
    }
    field_.retire(i);
  }
  for (std::size_t p = 0; p < report_.peers.size(); ++p) {
    report_.peers[p].version = field_.contenders()[p].version;
    report_.peers[p].incomplete = field_.contenders()[p].incomplete;
  }
  report_.turns = referee_.log;
  summarise(report_);
  if (!status) fail(status);
}

void Session::fail(const Status& status) {
  report_.interrupted = status.code() == Code::aborted;
  report_.failure = report_.interrupted ? interrupt_.description() : status.message();
}

TurnOrder Session::base_order() const {
  TurnOrder order;
  order.verify = input_.options.check;
  order.untouched = input_.options.untouched;
  return order;
}

/// Two short looks: the first says how long the second has to be.
Result<double> Session::estimate_whole_us(Side& side, const TurnOrder& base) {
  TurnOrder order = base;
  order.verify = 0;
  order.iterations = pilot_iterations;
  order.warm_up = 1;
  double whole_us = 0;
  for (int look = 0; look < 2; ++look) {
    const auto figure = take_turn(side, {}, order, referee_);
    if (!figure) return figure.status();
    whole_us = figure->whole_us;
    const auto wanted =
        iterations_for(whole_us, whole_us, std::max(1u, input_.options.turn_ms / 4));
    if (wanted <= order.iterations) break;
    order.iterations = wanted;
  }
  return whole_us;
}

Status Session::measure(const Case& row_case, std::size_t index, Row& row) {
  const Options& o = input_.options;
  row.bytes = row_case.bytes;
  row.count = row_case.operation.count;
  row.dtype = row_case.operation.dtype;
  row.op = row_case.operation.op;
  if (auto status = gyre_->prepare(row_case.operation); !status) return status;
  TurnOrder order = base_order();
  const auto gyre_whole_us = estimate_whole_us(*gyre_, order);
  if (!gyre_whole_us) return gyre_whole_us.status();
  order.iterations =
      o.iterations > 0 ? o.iterations : iterations_for(*gyre_whole_us, *gyre_whole_us, o.turn_ms);
  order.warm_up = o.warm_up >= 0 ? static_cast<std::uint64_t>(o.warm_up)
                                 : std::min(warm_up_max, order.iterations);

  std::vector<TurnFigure> ours;
  gyre_->flip_bits(o.self_test == SelfTest::flip_bit);
  if (!compares_in_place(o))
    if (auto status = measure_peers(order, row_case, index, *gyre_whole_us, row, ours); !status)
      return status;
  if (auto status = fill_up(order, o.pairs, ours); !status) return status;
  if (auto status = time_single_calls(order, *gyre_whole_us, row, ours); !status) return status;
  gyre_->flip_bits(false);
  finish_half(ours, row_case, row.out_of_place);
  row.bytes_sent = ours.back().bytes_sent;
  row.algorithm = ours.back().algorithm;
  if (input_.limits.memory_gbps > 0)
    row.limit_share = static_cast<double>(least_traffic_bytes(o.collective, row.bytes, o.ranks)) /
                      (row.out_of_place.time_us * 1e3) / input_.limits.memory_gbps;
  if (o.in_place || compares_in_place(o))
    if (auto status = measure_in_place(order, row_case, index, *gyre_whole_us, row); !status)
      return status;
  return gyre_->release();
}

Status Session::measure_peers(const TurnOrder& order, const Case& row_case, std::size_t index,
                              double gyre_whole_us, Row& row, std::vector<TurnFigure>& ours) {
  for (Contender& contender : field_.contenders()) {
    PeerFigure figure;
    figure.peer = contender.peer.name;
    figure.why_not = contender.incomplete;
    if (contender.incomplete.empty()) {
      const auto peer = field_.champion(contender, index);
      Status status = peer.status();
      if (peer && !*peer) figure.why_not = "it does not have this type or operator";
      if (peer && *peer) {
        tell_(
            fmt::format("{}: gyre and {} take turns", size_text(row_case.bytes), (*peer)->label()));
        status = compare(**peer, order, row_case, gyre_whole_us, figure, ours);
      }
      if (status.code() == Code::aborted || !gyre_->usable()) return status;
      if (!status) {
        contender.incomplete = figure.why_not = status.message();
        contender.running.clear();  // it may be spinning, or stuck
      }
    }
    row.peers.push_back(std::move(figure));
  }
  return {};
}

Status Session::compare(RankSet& peer, TurnOrder order, const Case& row_case, double gyre_whole_us,
                        PeerFigure& figure, std::vector<TurnFigure>& ours) {
  const Options& o = input_.options;
  if (auto status = peer.prepare(row_case.operation); !status) return status;
  // Not the scouting's time: that is minutes old, and the machine may be busier now.
  const auto peer_whole_us = estimate_whole_us(peer, order);
  if (!peer_whole_us) return peer_whole_us.status();
  if (o.iterations == 0)
    order.iterations = iterations_for(std::min(gyre_whole_us, *peer_whole_us),
                                      std::max(gyre_whole_us, *peer_whole_us), o.turn_ms);
  if (o.warm_up < 0) order.warm_up = std::min(warm_up_max, order.iterations);
  if (o.self_test == SelfTest::spin_peer)
    if (auto status = peer.spin(); !status) return status;
  std::vector<Side*> idle = field_.sleepers(&peer);
  auto pairs = take_pairs(*gyre_, peer, idle, order, o.pairs, referee_);
  if (!pairs) return pairs.status();
  figure.measured = true;
  figure.variant = peer.variant();
  figure.time_us = median_time_us(pairs->theirs);
  figure.ratio = pairs->ratio;
  figure.ratio_min = pairs->ratio_min;
  figure.ratio_max = pairs->ratio_max;
  figure.wrong = most_wrong(pairs->theirs);
  note_wrong(peer.label(), pairs->theirs, row_case);
  for (auto& turn : pairs->ours) ours.push_back(std::move(turn));
  if (figure.wrong > 0)
    return {Code::peer_failed,
            fmt::format("{} wrong elements at size {}", figure.wrong, size_text(row_case.bytes))};
  return peer.release();
}

Status Session::measure_in_place(const TurnOrder& order, const Case& row_case, std::size_t index,
                                 double gyre_whole_us, Row& row) {
  Case in_place = row_case;
  in_place.operation.in_place = 1;
  if (auto status = gyre_->prepare(in_place.operation); !status) return status;
  std::vector<TurnFigure> figures;
  if (compares_in_place(input_.options))
    if (auto status = measure_peers(order, in_place, index, gyre_whole_us, row, figures); !status)
      return status;
  if (auto status = fill_up(order, (input_.options.pairs + 1) / 2, figures); !status) return status;
  finish_half(figures, row_case, row.in_place);
  return {};
}

/// Turns of gyre alone, until there are `turns` of them.
Status Session::fill_up(const TurnOrder& order, int turns, std::vector<TurnFigure>& figures) {
  const std::vector<Side*> sleepers = field_.sleepers(gyre_.get());
  for (auto turn = static_cast<int>(figures.size()); turn < turns; ++turn) {
    auto figure = take_turn(*gyre_, sleepers, order, referee_);
    if (!figure) return figure.status();
    figures.push_back(std::move(*figure));
  }
  return {};
}

/// The turn's own time is not used: the pass of single calls is what it is for.
Status Session::time_single_calls(TurnOrder order, double whole_us, Row& row,
                                  std::vector<TurnFigure>& ours) {
  order.percentile_calls = static_cast<std::uint32_t>(
      std::clamp(std::ceil(single_calls_us / std::max(whole_us, time_us_min)), 10.0, 2000.0));
  order.iterations = std::min(order.iterations, pilot_iterations);
  order.warm_up = std::min(order.warm_up, pilot_iterations);
  const std::vector<Side*> sleepers = field_.sleepers(gyre_.get());
  const auto figure = take_turn(*gyre_, sleepers, order, referee_);
  if (!figure) return figure.status();
  row.p50_us = figure->p50_us;
  row.p99_us = figure->p99_us;
  // Its verification counts, in the place of a turn that is not slower than the median.
  ours.back().wrong = std::max(ours.back().wrong, figure->wrong);
  return {};
}

void Session::finish_half(const std::vector<TurnFigure>& figures, const Case& row_case,
                          Half& half) {
  const Options& o = input_.options;
  half.measured = true;
  half.time_us = median_time_us(figures);
  half.algbw_gbps = algbw_gbps(row_case.bytes, half.time_us);
  half.busbw_gbps = busbw_gbps(o.collective, row_case.bytes, half.time_us, o.ranks);
  half.wrong = most_wrong(figures);
  note_wrong("gyre", figures, row_case);
}

void Session::note_wrong(const std::string& who, const std::vector<TurnFigure>& figures,
                         const Case& row_case) {
  for (const TurnFigure& figure : figures) {
    if (figure.wrong == 0 || figure.wrong_rank < 0) continue;
    if (report_.notes.size() >= notes_max) return;
    report_.notes.push_back(fmt::format(
        "{}, size {}: {} wrong elements; the first is element {} of rank {}: {} instead of {}", who,
        size_text(row_case.bytes), figure.wrong, figure.wrong_reply.first_wrong, figure.wrong_rank,
        figure.wrong_reply.wrong_got, figure.wrong_reply.wrong_expected));
    return;
  }
}

}  // namespace gyre::bench
