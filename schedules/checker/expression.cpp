#include "schedules/checker/expression.hpp"

#include <algorithm>

namespace gyre::schedules::checker {

Expressions::Expressions(int ranks) : leaves_(static_cast<std::uint32_t>(ranks)), table_(64) {}

std::uint64_t Expressions::hash_of(std::span<const Expression> operands, bool closed) const {
  std::uint64_t result = closed ? 1 : 0;
  for (const Expression operand : operands) result = scrambled(result ^ hash(operand));
  return result;
}

void Expressions::grow() {
  std::vector<Expression> larger(table_.size() * 2);
  for (const Expression entry : table_) {
    if (entry == 0) continue;
    std::size_t slot = node(entry).hash & (larger.size() - 1);
    while (larger[slot] != 0) slot = (slot + 1) & (larger.size() - 1);
    larger[slot] = entry;
  }
  table_ = std::move(larger);
}

Expression Expressions::intern(std::span<const Expression> operands, bool closed) {
  if (2 * nodes_.size() >= table_.size()) grow();
  const std::uint64_t hashed = hash_of(operands, closed);
  std::size_t slot = hashed & (table_.size() - 1);
  for (; table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1)) {
    const Node& other = node(table_[slot]);
    if (other.hash == hashed && other.closed == closed &&
        std::ranges::equal(operands_of(other), operands))
      return table_[slot];
  }
  Node made;
  made.first = static_cast<std::uint32_t>(operands_.size());
  made.count = static_cast<std::uint32_t>(operands.size());
  made.closed = closed;
  made.hash = hashed;
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  nodes_.push_back(made);
  return table_[slot] = leaves_ + static_cast<Expression>(nodes_.size());
}

Expression Expressions::pass(std::span<const Expression> operands) {
  return intern(operands, false);
}

Expression Expressions::closed(Expression value) { return intern({&value, 1}, true); }

std::string Expressions::why_incomplete(Expression value) const {
  if (value == unwritten) return "was never written";
  if (!is_closed(value)) return "is not finalized";
  std::vector<bool> seen(leaves_ + 1);
  std::uint32_t found = 0;
  // A leaf seen twice ends the walk, so it visits at most twice as many nodes as there are ranks.
  std::vector<Expression> open = {operands_of(node(value))[0]};
  while (!open.empty()) {
    const Expression next = open.back();
    open.pop_back();
    if (next > leaves_) {
      if (node(next).closed) return "is finalized more than once";
      const auto operands = operands_of(node(next));
      open.insert(open.end(), operands.begin(), operands.end());
      continue;
    }
    const std::string rank = std::to_string(static_cast<int>(next) - 1);
    if (seen[next]) return "has the input of rank " + rank + " twice";
    seen[next] = true;
    ++found;
  }
  if (found == leaves_) return {};
  const auto missing = std::find(seen.begin() + 1, seen.end(), false) - seen.begin() - 1;
  return "lacks the input of rank " + std::to_string(missing);
}

Expression Expressions::fixed_tree() {
  std::vector<Expression> level;
  for (std::uint32_t rank = 0; rank < leaves_; ++rank) level.push_back(1 + rank);
  while (level.size() > 1) {
    std::vector<Expression> above;
    for (std::size_t i = 0; i < level.size(); i += 2)
      above.push_back(i + 1 < level.size() ? pass({level.data() + i, 2}) : level[i]);
    level = std::move(above);
  }
  return closed(level[0]);
}

}  // namespace gyre::schedules::checker
