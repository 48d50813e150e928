#include "schedules/checker/memory.hpp"

#include <algorithm>

namespace gyre::schedules::checker {
namespace {

bool continues(const Run& first, const Run& second) {
  if (first.value != second.value) return false;
  return first.value == unwritten || first.element + first.count == second.element;
}

/// Elements `skip` .. `skip`+`count`-1 of `run`.
Run part(const Run& run, std::uint64_t skip, std::uint64_t count) {
  return {count, run.element + skip, run.value};
}

}  // namespace

void append(Runs& runs, Run run) {
  if (!runs.empty() && continues(runs.back(), run))
    runs.back().count += run.count;
  else
    runs.push_back(run);
}

void Memory::reset(std::uint64_t count) {
  count_ = count;
  segments_.clear();
  if (count > 0) segments_.push_back({0, {count, 0, unwritten}});
}

std::size_t Memory::find(std::uint64_t position) const {
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), position,
                       [](std::uint64_t p, const Segment& segment) { return p < segment.begin; });
  return static_cast<std::size_t>(after - segments_.begin()) - 1;
}

void Memory::read(std::uint64_t begin, std::uint64_t count, Runs& out) const {
  if (count == 0) return;
  for (std::size_t i = find(begin); count > 0; ++i) {
    const Segment& segment = segments_[i];
    const std::uint64_t skip = begin - segment.begin;
    const std::uint64_t taken = std::min(count, segment.run.count - skip);
    append(out, part(segment.run, skip, taken));
    begin += taken;
    count -= taken;
  }
}

void Memory::add(std::uint64_t begin, Run run) {
  if (run.count == 0) return;
  if (!fresh_.empty() && continues(fresh_.back().run, run))
    fresh_.back().run.count += run.count;
  else
    fresh_.push_back({begin, run});
}

void Memory::write(std::uint64_t begin, const Runs& runs) {
  std::uint64_t end = begin;
  for (const Run& run : runs) end += run.count;
  if (end == begin) return;
  std::size_t first = find(begin);
  std::size_t last = find(end - 1);
  const std::uint64_t kept_left = begin - segments_[first].begin;
  const std::uint64_t kept_right = segments_[last].end() - end;
  if (kept_left == 0 && first > 0) --first;  // a neighbour may be continued
  if (kept_right == 0 && last + 1 < segments_.size()) ++last;

  fresh_.clear();
  const Segment left = segments_[first];
  const Segment right = segments_[last];
  if (left.begin < begin) add(left.begin, part(left.run, 0, begin - left.begin));
  for (const Run& run : runs) {
    add(begin, run);
    begin += run.count;
  }
  if (right.end() > end) {
    const std::uint64_t skip = end > right.begin ? end - right.begin : 0;
    add(end, part(right.run, skip, right.run.count - skip));
  }

  const std::size_t replaced = last - first + 1;
  const std::size_t common = std::min(replaced, fresh_.size());
  const auto at = segments_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto copied = std::copy_n(fresh_.begin(), common, at);
  if (replaced > common) {
    segments_.erase(copied, at + static_cast<std::ptrdiff_t>(replaced));
  } else {
    segments_.insert(copied, fresh_.begin() + static_cast<std::ptrdiff_t>(common), fresh_.end());
  }
}

}  // namespace gyre::schedules::checker
