// Every algorithm gyre knows, by collective and name. Adding one: its schedule file, a row here,
// and its test. Its name is part of the plan hash, so ranks that run different ones are noticed.
#pragma once

#include <cstdint>
#include <string_view>

#include "schedules/action.hpp"
#include "schedules/halving_doubling.hpp"
#include "schedules/mapped.hpp"
#include "schedules/one_shot.hpp"
#include "schedules/plan.hpp"
#include "schedules/ring.hpp"
#include "schedules/two_shot.hpp"

namespace gyre::schedules {

/// What a schedule needs of memory beside links with slots.
enum class Needs : std::uint8_t {
  slots,   ///< nothing
  mapped,  ///< every rank's buffers can be loaded from and stored to by every rank
};

/// `steps` and `action` are pure; `action` takes 0 <= step < steps(plan). Both want size >= 2.
struct Schedule {
  Collective collective;
  std::string_view algorithm;  ///< the name GYRE_ALGORITHM takes
  Needs needs;
  std::uint64_t (*steps)(const Plan&);
  Action (*action)(const Plan&, std::uint64_t step);
};

namespace detail {
/// Rows of a ring collective, made from its span.
template <ring::Span (*span)(const Plan&)>
constexpr std::uint64_t ring_steps(const Plan& plan) {
  return ring::steps(plan, span(plan));
}
template <ring::Span (*span)(const Plan&)>
constexpr Action ring_action(const Plan& plan, std::uint64_t step) {
  return ring::action(plan, step, span(plan));
}
}  // namespace detail

inline constexpr Schedule schedule_table[] = {
    {Collective::all_reduce, "ring", Needs::slots, detail::ring_steps<ring::all_reduce_span>,
     detail::ring_action<ring::all_reduce_span>},
    {Collective::reduce_scatter, "ring", Needs::slots,
     detail::ring_steps<ring::reduce_scatter_span>, detail::ring_action<ring::reduce_scatter_span>},
    {Collective::all_gather, "ring", Needs::slots, detail::ring_steps<ring::all_gather_span>,
     detail::ring_action<ring::all_gather_span>},
    {Collective::all_reduce, "one_shot", Needs::slots, one_shot::all_reduce_steps,
     one_shot::all_reduce_action},
    {Collective::all_gather, "one_shot", Needs::slots, one_shot::all_gather_steps,
     one_shot::all_gather_action},
    {Collective::broadcast, "one_shot", Needs::slots, one_shot::broadcast_steps,
     one_shot::broadcast_action},
    {Collective::barrier, "one_shot", Needs::slots, one_shot::barrier_steps,
     one_shot::barrier_action},
    {Collective::all_reduce, "two_shot", Needs::slots, two_shot::all_reduce_steps,
     two_shot::all_reduce_action},
    {Collective::reduce_scatter, "two_shot", Needs::slots, two_shot::reduce_scatter_steps,
     two_shot::reduce_scatter_action},
    {Collective::broadcast, "two_shot", Needs::slots, two_shot::broadcast_steps,
     two_shot::broadcast_action},
    {Collective::all_reduce, "mapped", Needs::mapped, mapped::steps, mapped::all_reduce_action},
    {Collective::reduce_scatter, "mapped", Needs::mapped, mapped::steps,
     mapped::reduce_scatter_action},
    {Collective::all_gather, "mapped", Needs::mapped, mapped::steps, mapped::all_gather_action},
    {Collective::broadcast, "mapped", Needs::mapped, mapped::steps, mapped::broadcast_action},
    {Collective::all_reduce, "halving_doubling", Needs::slots, halving_doubling::steps,
     halving_doubling::action},
};

/// The row of that collective and algorithm, or nullptr.
constexpr const Schedule* find_schedule(Collective collective, std::string_view algorithm) {
  for (const auto& row : schedule_table)
    if (row.collective == collective && row.algorithm == algorithm) return &row;
  return nullptr;
}

/// A single rank's operation under any algorithm: its input, completed, is its output.
constexpr std::uint64_t solo_steps(Collective collective, const Plan& plan) {
  return collective != Collective::barrier && lane(plan).count > 0 ? 1 : 0;
}
constexpr Action solo_action(Collective collective, const Plan& plan) {
  Action result;
  result.verb = Verb::copy;
  result.finalize =
      collective == Collective::all_reduce || collective == Collective::reduce_scatter;
  result.count = lane(plan).count;
  result.source[0] = {Place::input, -1, lane(plan).begin};
  result.destination[0] = {Place::output, -1, lane(plan).begin};
  return result;
}

constexpr std::uint64_t step_count(const Schedule& schedule, const Plan& plan) {
  return plan.size == 1 ? solo_steps(schedule.collective, plan) : schedule.steps(plan);
}
constexpr Action action_at(const Schedule& schedule, const Plan& plan, std::uint64_t step) {
  return plan.size == 1 ? solo_action(schedule.collective, plan) : schedule.action(plan, step);
}

}  // namespace gyre::schedules
