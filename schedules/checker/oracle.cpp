#include "schedules/checker/oracle.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "schedules/checker/expression.hpp"  // scrambled

namespace gyre::schedules::checker {
namespace {

using Value = std::uint64_t;
using Values = std::vector<Value>;

constexpr int to_everyone = -1;

/// Not linear, so that closing early, twice or never gives another number.
constexpr Value closed(Value sum) { return scrambled(sum ^ 0x636c6f736564u); }

struct Rank {
  Layout layout;
  Values memory[2];  ///< input, output; in place both are in memory[0]
  bool entered = false;
  bool returned = false;
  Values result;
};

/// One rank's progress on one channel.
struct Lane {
  int rank = 0;
  int channel = 0;
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
  bool left = false;
  Values scratch;
};

class Run {
 public:
  Run(const Schedule& schedule, const World& world, std::uint64_t seed, const Override* override)
      : schedule_(schedule), world_(world), seed_(seed), override_(override) {}

  std::string run();

 private:
  using Link = std::tuple<int, int, int, int>;  ///< channel, from, to, reader

  std::uint64_t draw() { return state_ = scrambled(state_ + seed_); }
  Value contribution(int rank, std::uint64_t element) const {
    return scrambled(scrambled(seed_ + static_cast<std::uint64_t>(rank)) ^ element);
  }
  void set_up();
  void enter(Rank& rank, int number);
  void leave_call(Rank& rank);
  Action action(const Lane& lane) const;
  bool may_go(const Lane& lane, const Action& action);
  void take(Lane& lane, const Action& action);
  void fail(const Lane& lane, const std::string& what);

  Value* at(int rank, bool output, std::uint64_t offset, std::uint64_t count, const Lane& lane);
  std::deque<Values>& queue(int channel, int from, int to, int reader) {
    return queues_[{channel, from, to, reader}];
  }
  Values message(const Lane& lane, int from, int to, std::uint64_t count);
  Values source(Lane& lane, const Operand& operand, std::uint64_t count);
  std::vector<Values> sources(Lane& lane, const Action& action);
  void store(Lane& lane, const Operand& operand, const Values& values);
  std::string verdict();

  const Schedule& schedule_;
  const World& world_;
  const std::uint64_t seed_;
  const Override* override_;
  std::uint64_t state_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Lane> lanes_;
  std::map<Link, std::deque<Values>> queues_;
  std::string failure_;
};

void Run::set_up() {
  ranks_.resize(static_cast<std::size_t>(world_.size));
  for (int r = 0; r < world_.size; ++r) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    rank.layout = layout_of(schedule_.collective, world_, r);
    const Layout& l = rank.layout;
    if (world_.in_place) {
      rank.memory[0].resize(std::max(l.input_count, l.output_count));
    } else {
      rank.memory[0].resize(l.input_count);
      rank.memory[1].resize(l.output_count);
    }
    for (Values& memory : rank.memory)
      for (Value& value : memory) value = draw();
    for (int c = 0; c < world_.channels; ++c) {
      Lane lane;
      lane.rank = r;
      lane.channel = c;
      const bool replaced = override_ != nullptr && override_->rank == r && c == 0;
      lane.steps =
          replaced ? override_->actions.size() : step_count(schedule_, plan_of(world_, r, c));
      lane.scratch.assign(world_.piece_elements, draw());
      lanes_.push_back(std::move(lane));
    }
  }
}

/// The caller's last write to his input comes before the call.
void Run::enter(Rank& rank, int number) {
  rank.entered = true;
  const Layout& l = rank.layout;
  const std::uint64_t base =
      world_.in_place ? std::min(l.input_first, l.output_first) : l.input_first;
  for (std::uint64_t i = 0; i < l.input_count; ++i)
    rank.memory[0][l.input_first - base + i] = contribution(number, l.input_first + i);
}

/// The caller takes the result and uses his buffers for something else at once.
void Run::leave_call(Rank& rank) {
  rank.returned = true;
  const Layout& l = rank.layout;
  const Values& memory = rank.memory[world_.in_place ? 0 : 1];
  const std::uint64_t base =
      world_.in_place ? std::min(l.input_first, l.output_first) : l.output_first;
  const auto first = memory.begin() + static_cast<std::ptrdiff_t>(l.output_first - base);
  if (l.output_count > 0)
    rank.result.assign(first, first + static_cast<std::ptrdiff_t>(l.output_count));
  for (Values& overwritten : rank.memory)
    for (Value& value : overwritten) value = draw();
}

Action Run::action(const Lane& lane) const {
  if (override_ != nullptr && override_->rank == lane.rank && lane.channel == 0)
    return override_->actions[lane.step];
  return action_at(schedule_, plan_of(world_, lane.rank, lane.channel), lane.step);
}

void Run::fail(const Lane& lane, const std::string& what) {
  if (failure_.empty())
    failure_ =
        "rank " + std::to_string(lane.rank) + " step " + std::to_string(lane.step) + ": " + what;
}

Value* Run::at(int rank, bool output, std::uint64_t offset, std::uint64_t count, const Lane& lane) {
  Rank& owner = ranks_[static_cast<std::size_t>(rank)];
  const Layout& l = owner.layout;
  const std::uint64_t limit = output ? l.output_count : l.input_count;
  if (offset > limit || count > limit - offset) {
    fail(lane, "outside the buffer");
    return nullptr;
  }
  const std::uint64_t base = std::min(l.input_first, l.output_first);
  if (!world_.in_place) return owner.memory[output ? 1 : 0].data() + offset;
  return owner.memory[0].data() + ((output ? l.output_first : l.input_first) - base) + offset;
}

bool Run::may_go(const Lane& lane, const Action& action) {
  for (const Lane& other : lanes_) {
    if (other.rank == lane.rank || other.channel != lane.channel) continue;
    if (action.wait == Event::entered && !ranks_[static_cast<std::size_t>(other.rank)].entered)
      return false;
    if (action.wait == Event::left && !other.left) return false;
  }
  if (action.count == 0) return true;
  const auto arrived = [&](int from, int to, int reader) {
    return !queue(lane.channel, from, to, reader).empty();
  };
  const auto full = [&](int to, int reader) {
    return queue(lane.channel, lane.rank, to, reader).size() >=
           static_cast<std::size_t>(world_.slots);
  };
  const auto every = [&](auto&& condition) {
    for (int r = 0; r < world_.size; ++r)
      if (r != lane.rank && !condition(r)) return false;
    return true;
  };
  const int me = lane.rank;
  for (const Operand& operand : action.source) {
    if (operand.place == Place::slot && !arrived(operand.peer, me, me)) return false;
    if (operand.place == Place::cast && !arrived(operand.peer, to_everyone, me)) return false;
    if (operand.place == Place::every_slot && !every([&](int r) { return arrived(r, me, me); }))
      return false;
    if (operand.place == Place::every_cast &&
        !every([&](int r) { return arrived(r, to_everyone, me); }))
      return false;
  }
  for (const Operand& operand : action.destination) {
    if (operand.place == Place::slot && full(operand.peer, operand.peer)) return false;
    if (operand.place == Place::cast && !every([&](int r) { return !full(to_everyone, r); }))
      return false;
  }
  return true;
}

Values Run::message(const Lane& lane, int from, int to, std::uint64_t count) {
  std::deque<Values>& waiting = queue(lane.channel, from, to, lane.rank);
  if (waiting.empty()) {
    fail(lane, "read twice from one message");
    return Values(count);
  }
  Values result = std::move(waiting.front());
  waiting.pop_front();
  if (result.size() != count) {
    fail(lane, "message of another length");
    result.resize(count);
  }
  return result;
}

Values Run::source(Lane& lane, const Operand& operand, std::uint64_t count) {
  const Value* data = nullptr;
  switch (operand.place) {
    case Place::slot: return message(lane, operand.peer, lane.rank, count);
    case Place::cast: return message(lane, operand.peer, to_everyone, count);
    case Place::input: data = at(lane.rank, false, operand.offset, count, lane); break;
    case Place::output: data = at(lane.rank, true, operand.offset, count, lane); break;
    case Place::mapped_input: data = at(operand.peer, false, operand.offset, count, lane); break;
    case Place::scratch:
      if (operand.offset <= lane.scratch.size() && count <= lane.scratch.size() - operand.offset)
        data = lane.scratch.data() + operand.offset;
      break;
    default: break;
  }
  if (data != nullptr) return Values(data, data + count);
  fail(lane, "no such source");
  return Values(count);
}

std::vector<Values> Run::sources(Lane& lane, const Action& action) {
  std::vector<Values> result;
  const Operand& first = action.source[0];
  if (is_every(first.place)) {
    for (int r = 0; r < world_.size; ++r) {
      const Operand own{Place::input, -1, first.offset};
      if (first.place == Place::every_input)
        result.push_back(source(lane, {Place::mapped_input, r, first.offset}, action.count));
      else if (r == lane.rank)
        result.push_back(source(lane, own, action.count));
      else
        result.push_back(message(
            lane, r, first.place == Place::every_slot ? lane.rank : to_everyone, action.count));
    }
    return result;
  }
  for (const Operand& operand : action.source)
    if (operand.place != Place::none) result.push_back(source(lane, operand, action.count));
  return result;
}

void Run::store(Lane& lane, const Operand& operand, const Values& values) {
  const auto put = [&](Value* data) {
    if (data != nullptr) std::copy(values.begin(), values.end(), data);
  };
  switch (operand.place) {
    case Place::none: break;
    case Place::output: put(at(lane.rank, true, operand.offset, values.size(), lane)); break;
    case Place::slot:
      queue(lane.channel, lane.rank, operand.peer, operand.peer).push_back(values);
      break;
    case Place::cast:
      for (int r = 0; r < world_.size; ++r)
        if (r != lane.rank) queue(lane.channel, lane.rank, to_everyone, r).push_back(values);
      break;
    case Place::every_output:
      for (int r = 0; r < world_.size; ++r) put(at(r, true, operand.offset, values.size(), lane));
      break;
    case Place::scratch:
      if (operand.offset <= lane.scratch.size() &&
          values.size() <= lane.scratch.size() - operand.offset)
        put(lane.scratch.data() + operand.offset);
      else
        fail(lane, "outside scratch");
      break;
    default: fail(lane, "no such destination");
  }
}

void Run::take(Lane& lane, const Action& action) {
  if (action.count > 0) {
    const std::vector<Values> operands = sources(lane, action);
    if (operands.empty()) return fail(lane, "nothing to move");
    Values value = operands[0];
    if (action.verb == Verb::combine)
      for (std::size_t i = 1; i < operands.size(); ++i)
        for (std::size_t e = 0; e < value.size(); ++e) value[e] += operands[i][e];
    if (action.finalize)
      for (Value& element : value) element = closed(element);
    for (const Operand& operand : action.destination) store(lane, operand, value);
  }
  if (action.signal == Event::left) lane.left = true;
  ++lane.step;
}

std::string Run::run() {
  set_up();
  std::size_t unfinished = lanes_.size();
  // A full round without progress in a fixed order is a deadlock; rounds start anywhere.
  while (unfinished > 0 && failure_.empty()) {
    bool moved = false;
    const std::size_t first = draw() % lanes_.size();
    for (std::size_t i = 0; i < lanes_.size() && failure_.empty(); ++i) {
      Lane& lane = lanes_[(first + i) % lanes_.size()];
      Rank& rank = ranks_[static_cast<std::size_t>(lane.rank)];
      if (rank.returned || draw() % 4 == 0) {
        moved |= !rank.returned;  // left out by chance, not stuck
        continue;
      }
      if (!rank.entered) {
        enter(rank, lane.rank);
        moved = true;
      }
      for (std::uint64_t burst = draw() % 4; lane.step < lane.steps; --burst) {
        const Action next = action(lane);
        if (!may_go(lane, next)) break;
        moved = true;
        take(lane, next);
        if (burst == 0 || !failure_.empty()) break;
      }
      if (lane.step < lane.steps) continue;
      bool all = true;
      for (const Lane& other : lanes_) all &= other.rank != lane.rank || other.step == other.steps;
      if (!all) continue;
      unfinished -= static_cast<std::size_t>(world_.channels);
      leave_call(rank);
      moved = true;
    }
    if (!moved) return "deadlock";
  }
  return failure_.empty() ? verdict() : failure_;
}

std::string Run::verdict() {
  for (const auto& [link, waiting] : queues_)
    if (!waiting.empty())
      return "a message from rank " + std::to_string(std::get<1>(link)) + " was never read";
  for (int r = 0; r < world_.size; ++r) {
    const Rank& rank = ranks_[static_cast<std::size_t>(r)];
    for (std::uint64_t i = 0; i < rank.layout.output_count; ++i) {
      const std::uint64_t element = rank.layout.output_first + i;
      Value expected = 0;
      if (reduces(schedule_.collective)) {
        for (int from = 0; from < world_.size; ++from) expected += contribution(from, element);
        expected = closed(expected);
      } else {
        Plan plan;
        plan.size = world_.size;
        plan.count = world_.count;
        int owner = world_.root;
        if (schedule_.collective == Collective::all_gather)
          for (owner = 0; element >= whole_chunk(plan, owner).end();) ++owner;
        expected = contribution(owner, element);
      }
      if (rank.result[i] != expected)
        return "element " + std::to_string(element) + " of rank " + std::to_string(r) +
               "'s result is wrong";
    }
  }
  return {};
}

}  // namespace

std::string run_concrete(const Schedule& schedule, const World& world, std::uint64_t seed,
                         const Override* override) {
  return Run(schedule, world, seed, override).run();
}

}  // namespace gyre::schedules::checker
