#include "schedules/checker/mutants.hpp"

#include <algorithm>

#include "schedules/checker/checker.hpp"
#include "schedules/checker/describe.hpp"
#include "schedules/checker/oracle.hpp"

namespace gyre::schedules::checker {
namespace {

constexpr int oracle_runs = 3;

bool has_offset(const Operand& operand) {
  return operand.place != Place::none && operand.place != Place::slot &&
         operand.place != Place::cast;
}

/// The same place in the chunk `turn` further on.
std::uint64_t in_other_chunk(const World& world, std::uint64_t offset, int turn) {
  Plan plan;
  plan.size = world.size;
  plan.count = world.count;
  int at = 0;
  while (at + 1 < world.size && offset >= whole_chunk(plan, at).end()) ++at;
  const int other = (at + turn + world.size) % world.size;
  return offset - whole_chunk(plan, at).begin + whole_chunk(plan, other).begin;
}

class Edits {
 public:
  Edits(const World& world, const std::vector<Action>& program)
      : world_(world), program_(program) {}

  std::vector<Edit> all() {
    for (step_ = 0; step_ < program_.size(); ++step_) {
      edit_peers();
      edit_offsets();
      add(Change::dropped, Action{});
      add(Change::doubled, Action{});
      if (step_ + 1 < program_.size()) add(Change::swapped, Action{});
      if (original().verb != Verb::none) {
        edit_verb();
        Action action = original();
        action.finalize = !action.finalize;
        add(Change::finalize, action);
      }
      edit_events();
    }
    return std::move(edits_);
  }

 private:
  const Action& original() const { return program_[step_]; }
  void add(Change change, const Action& action) { edits_.push_back({change, step_, action}); }

  static Operand& operand(Action& action, int index) {
    return index < 2 ? action.source[index] : action.destination[index - 2];
  }

  void edit_peers() {
    for (int i = 0; i < 4; ++i) {
      for (const int turn : {1, -1}) {
        Action action = original();
        int& peer = operand(action, i).peer;
        if (peer < 0) continue;
        peer = (peer + turn + world_.size) % world_.size;
        add(turn > 0 ? Change::next_peer : Change::previous_peer, action);
      }
    }
  }

  void edit_offsets() {
    for (const int turn : {1, -1}) {
      Action together = original();
      int moved = 0;
      for (int i = 0; i < 4; ++i) {
        Action action = original();
        if (!has_offset(operand(action, i))) continue;
        const std::uint64_t offset = operand(action, i).offset;
        ++moved;
        operand(action, i).offset = in_other_chunk(world_, offset, turn);
        operand(together, i) = operand(action, i);
        add(turn > 0 ? Change::next_chunk : Change::previous_chunk, action);
        operand(action, i).offset = offset + static_cast<std::uint64_t>(turn);
        add(turn > 0 ? Change::next_element : Change::previous_element, action);
      }
      if (moved > 1) add(turn > 0 ? Change::next_chunk : Change::previous_chunk, together);
    }
  }

  void edit_verb() {
    Action action = original();
    if (action.verb == Verb::copy) {  // something of the rank's own slips in
      action.verb = Verb::combine;
      action.source[1] = {Place::input, -1, action.source[0].offset};
      if (action.destination[0].place == Place::output)
        action.source[1].offset = action.destination[0].offset;
      return add(Change::verb, action);
    }
    action.verb = Verb::copy;  // one contribution alone is taken for the sum
    action.source[1] = {};
    if (is_every(action.source[0].place)) {
      action.source[0] = {Place::input, -1, action.source[0].offset};
      return add(Change::verb, action);
    }
    add(Change::verb, action);
    action.source[0] = original().source[1];
    add(Change::verb, action);
  }

  void edit_events() {
    Action action = original();
    if (action.wait != Event::none) {
      action.wait = Event::none;
      add(Change::event, action);
    }
    action = original();
    if (action.signal != Event::none) {
      action.signal = Event::none;
      add(Change::event, action);
    }
  }

  const World& world_;
  const std::vector<Action>& program_;
  std::uint64_t step_ = 0;
  std::vector<Edit> edits_;
};

/// Without what does nothing: actions that move no elements, wait for nothing, signal nothing.
std::vector<Action> essence(const std::vector<Action>& program) {
  std::vector<Action> result;
  for (Action action : program) {
    if (action.count == 0) {
      if (action.wait == Event::none && action.signal == Event::none) continue;
      Action events;
      events.wait = action.wait;
      events.signal = action.signal;
      action = events;
    }
    action.stage = 0;
    result.push_back(action);
  }
  return result;
}

void judge(const Schedule& schedule, const World& world, const Override& override,
           const Report& original, bool same_program, Tally& tally, std::string& doubt) {
  ++tally.generated;
  const Report report = check(schedule, world, &override);
  if (!report.right()) {
    ++tally.killed;
    return;
  }
  for (std::uint64_t seed = 1; seed <= oracle_runs && doubt.empty(); ++seed)
    doubt = run_concrete(schedule, world, seed, &override);
  if (same_program) {
    ++tally.same_program;
  } else if (report.behaviour == original.behaviour) {
    ++tally.same_seen;
  } else {
    ++tally.another_right;
  }
}

}  // namespace

void Tally::add(const Tally& other) {
  generated += other.generated;
  killed += other.killed;
  same_program += other.same_program;
  same_seen += other.same_seen;
  another_right += other.another_right;
}

std::vector<Edit> edits_of(const World& world, const std::vector<Action>& program) {
  return Edits(world, program).all();
}

std::vector<Action> edited(const std::vector<Action>& program, const Edit& edit) {
  std::vector<Action> result = program;
  const auto at = result.begin() + static_cast<std::ptrdiff_t>(edit.step);
  switch (edit.change) {
    case Change::dropped: result.erase(at); break;
    case Change::doubled: result.insert(at, program[edit.step]); break;
    case Change::swapped: std::iter_swap(at, at + 1); break;
    default: *at = edit.action;
  }
  return result;
}

Tallies try_mutants(const Schedule& schedule, const World& world,
                    std::vector<std::string>& doubts) {
  Tallies tallies = {};
  const Report original = check(schedule, world);
  if (!original.right()) doubts.push_back("the original: " + original.reason);
  for (int rank = 0; rank < world.size && original.right(); ++rank) {
    const std::vector<Action> program = program_of(schedule, world, rank);
    const std::vector<Action> wanted = essence(program);
    for (const Edit& edit : edits_of(world, program)) {
      const std::vector<Action> mutant = edited(program, edit);
      std::string doubt;
      judge(schedule, world, {rank, mutant}, original, essence(mutant) == wanted,
            tallies[static_cast<std::size_t>(edit.change)], doubt);
      if (doubt.empty()) continue;
      doubts.push_back(std::string(change_names[static_cast<std::size_t>(edit.change)]) +
                       " on rank " + std::to_string(rank) + " step " + std::to_string(edit.step) +
                       " (" + describe(program[edit.step]) + "): " + doubt);
    }
  }
  return tallies;
}

World uneven_world(const Schedule& schedule, int size, int slots, bool in_place) {
  constexpr std::uint64_t chunk_elements = 9;
  const auto ranks = static_cast<std::uint64_t>(size);
  World world;
  world.size = size;
  world.root = size - 1;
  world.slots = slots;
  world.in_place = in_place;
  world.count = chunk_elements * ranks;
  if (schedule.collective == Collective::all_reduce || schedule.collective == Collective::broadcast)
    world.count += ranks / 2;
  // Some schedules cut chunks into pieces, some the whole: larger pieces for those.
  constexpr std::uint64_t pieces_max = 10;
  world.piece_elements = 4;
  Plan one_piece = plan_of(world, 0, 0);
  one_piece.piece_elements = world.count;
  while (step_count(schedule, plan_of(world, 0, 0)) > pieces_max * step_count(schedule, one_piece))
    world.piece_elements *= 2;
  return world;
}

World sparse_world(const Schedule& schedule, int size, int slots, bool in_place) {
  World world = uneven_world(schedule, size, slots, in_place);
  const auto ranks = static_cast<std::uint64_t>(size);
  const bool divides = schedule.collective == Collective::reduce_scatter ||
                       schedule.collective == Collective::all_gather;
  world.count = divides ? ranks : ranks - 1;
  world.piece_elements = 1;
  return world;
}

}  // namespace gyre::schedules::checker
