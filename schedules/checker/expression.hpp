// What an element is worth, symbolically: a leaf (one rank's input) or a reduction of others in
// order. Equal expressions have equal numbers, so that comparing a thousand ranks' results is
// comparing integers. One pass over n operands is one node: it is rounded once, so it differs from
// n-1 passes over two.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gyre::schedules::checker {

using Expression = std::uint32_t;

/// Memory that nobody has written, or that must not be read.
inline constexpr Expression unwritten = 0;

/// A bijection that looks random (splitmix64, by Sebastiano Vigna).
constexpr std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

class Expressions {
 public:
  explicit Expressions(int ranks);

  /// `rank`'s input.
  Expression leaf(int rank) const { return 1 + static_cast<Expression>(rank); }
  /// Its operands reduced in order by one pass. At least two.
  Expression pass(std::span<const Expression> operands);
  /// The op's closing step, applied to `value`.
  Expression closed(Expression value);

  /// Depends on nothing but the expression, so it is the same in every execution.
  std::uint64_t hash(Expression value) const {
    return value > leaves_ ? node(value).hash : scrambled(value);
  }

  bool is_closed(Expression value) const { return value > leaves_ && node(value).closed; }

  /// Whether `value` is the closed reduction of every rank's input, each exactly once; else why
  /// not.
  std::string why_incomplete(Expression value) const;

  /// The closed reduction by one binary tree over the ranks: neighbours first, each level from the
  /// left, an odd one is carried up. With 2^k ranks it is the perfect tree.
  Expression fixed_tree();

 private:
  struct Node {
    std::uint32_t first = 0;  ///< in operands_
    std::uint32_t count = 0;
    bool closed = false;
    std::uint64_t hash = 0;  ///< of its shape down to the ranks
  };

  const Node& node(Expression value) const { return nodes_[value - leaves_ - 1]; }
  Expression intern(std::span<const Expression> operands, bool closed);
  void grow();
  std::uint64_t hash_of(std::span<const Expression> operands, bool closed) const;
  std::span<const Expression> operands_of(const Node& node) const {
    return {operands_.data() + node.first, node.count};
  }

  std::uint32_t leaves_;
  std::vector<Node> nodes_;
  std::vector<Expression> operands_;
  std::vector<Expression> table_;  ///< open addressing over 2^k entries, 0 is free
};

}  // namespace gyre::schedules::checker
