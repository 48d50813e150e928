#include "schedules/checker/describe.hpp"

#include <fmt/format.h>

namespace gyre::schedules::checker {
namespace {

std::string range(const Action& action, const Operand& operand) {
  return fmt::format("[{}..{})", operand.offset, operand.offset + action.count);
}

std::string name(const Action& action, const Operand& operand, bool is_source) {
  const std::string peer = (is_source ? "<-" : "->") + std::to_string(operand.peer);
  switch (operand.place) {
    case Place::none: return "nothing";
    case Place::input: return "input" + range(action, operand);
    case Place::output: return "output" + range(action, operand);
    case Place::scratch: return "scratch" + range(action, operand);
    case Place::slot: return "slot" + peer;
    case Place::cast: return is_source ? "cast" + peer : "cast";
    case Place::mapped_input: return "mapped_input" + peer + range(action, operand);
    case Place::every_slot: return "every_slot, input" + range(action, operand);
    case Place::every_cast: return "every_cast, input" + range(action, operand);
    case Place::every_input: return "every_input" + range(action, operand);
    case Place::every_output: return "every_output" + range(action, operand);
  }
  return "?";
}

std::string name(Event event) {
  switch (event) {
    case Event::none: return "nothing";
    case Event::entered: return "entered";
    case Event::left: return "left";
  }
  return "?";
}

bool can_be_source(Place place) { return place != Place::none && place != Place::every_output; }

bool can_be_destination(Place place) {
  return place == Place::output || place == Place::scratch || place == Place::slot ||
         place == Place::cast || place == Place::every_output;
}

bool needs_peer(const Operand& operand, bool is_source) {
  return operand.place == Place::slot || operand.place == Place::mapped_input ||
         (operand.place == Place::cast && is_source);
}

bool same_place(const Operand& a, const Operand& b) {
  return a.place == b.place && a.peer == b.peer;
}

bool is_link(Place place) { return place == Place::slot || place == Place::cast; }

const char* why_malformed_move(const Action& action) {
  const Operand(&from)[2] = action.source;
  const Operand(&to)[2] = action.destination;
  if (!can_be_source(from[0].place)) return "has no source";
  if (!can_be_destination(to[0].place)) return "has no destination";
  if (to[1].place != Place::none && !can_be_destination(to[1].place))
    return "writes what can only be read";
  const bool every = is_every(from[0].place);
  if (action.verb == Verb::copy && (every || from[1].place != Place::none))
    return "copies from more than one source";
  if (action.verb == Verb::combine && every && from[1].place != Place::none)
    return "combines something beside every rank's operand";
  if (action.verb == Verb::combine && !every &&
      (!can_be_source(from[1].place) || is_every(from[1].place)))
    return "combines one source";
  if (is_link(from[0].place) && same_place(from[0], from[1])) return "reads one link twice";
  if (to[1].place != Place::none && (same_place(to[0], to[1]) || is_every(to[0].place) ||
                                     (is_every(to[1].place) && to[0].place == Place::output)))
    return "writes one place twice";
  return nullptr;
}

}  // namespace

std::string describe(const Action& action) {
  std::string text = "stage " + std::to_string(action.stage) + ":";
  if (action.wait != Event::none) text += " wait until all have " + name(action.wait);
  if (action.verb != Verb::none) {
    text += action.verb == Verb::copy ? " copy " : " combine ";
    text += name(action, action.source[0], true);
    if (action.source[1].place != Place::none) text += " + " + name(action, action.source[1], true);
    text += " to " + name(action, action.destination[0], false);
    if (action.destination[1].place != Place::none)
      text += " and " + name(action, action.destination[1], false);
    if (action.finalize) text += ", finalize";
  }
  if (action.signal != Event::none) text += " signal " + name(action.signal);
  return text;
}

const char* why_malformed(const Action& action, int rank, int size) {
  if (action.signal == Event::entered) return "signals entered, which the call itself does";
  if (action.verb == Verb::none)
    return action.count > 0 || action.finalize ? "moves data without a verb" : nullptr;
  for (const bool is_source : {true, false})
    for (const Operand& operand : is_source ? action.source : action.destination)
      if (needs_peer(operand, is_source) &&
          (operand.peer < 0 || operand.peer >= size || operand.peer == rank))
        return "names a peer that isn't one";
  return why_malformed_move(action);
}

}  // namespace gyre::schedules::checker
