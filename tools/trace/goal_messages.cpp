#include "tools/trace/goal_messages.hpp"

#include <algorithm>

namespace lockstep::trace {
namespace {

using workloads::CollectiveKind;

/// The bytes of one of `parts` parts of an array, which differ by one at most.
std::int64_t part_of(std::int64_t bytes, std::int32_t parts, std::int64_t which) {
  const auto whole = bytes / parts, rest = bytes % parts;
  return std::max<std::int64_t>(1, whole + (which < rest ? 1 : 0));
}

/// In step t each member sends part (place - t) to the next and gets part (place - t - 1) from the one before. After
/// n - 1 steps every part has gone once around, added up or gathered; an all-reduce does both.
std::vector<GoalStep> ring(std::int64_t bytes, std::int32_t members, std::int32_t place, std::int32_t rounds) {
  std::vector<GoalStep> steps;
  const std::int32_t count = rounds * (members - 1);
  for (std::int32_t t = 0; t < count; ++t) {
    const auto which = [&](std::int64_t part) { return ((part % members) + members) % members; };
    steps.push_back({(place + 1) % members, (place + members - 1) % members,
                     part_of(bytes, members, which(std::int64_t{place} - t)),
                     part_of(bytes, members, which(std::int64_t{place} - t - 1))});
  }
  return steps;
}

/// In step t each member sends to the t-th after it.
std::vector<GoalStep> everyone(std::int64_t bytes, std::int32_t members, std::int32_t place) {
  const auto of_member = (bytes + members - 1) / members;
  std::vector<GoalStep> steps;
  for (std::int32_t t = 1; t < members; ++t) {
    const auto to = (place + t) % members, from = (place + members - t) % members;
    steps.push_back({to, from, part_of(of_member, members, to), part_of(of_member, members, place)});
  }
  return steps;
}

/// A binomial tree from the first member: who has the array at distance 2^k passes it on. Backwards it is a reduction.
std::vector<GoalStep> tree(std::int64_t bytes, std::int32_t members, std::int32_t place, bool backwards) {
  std::vector<GoalStep> steps;
  bytes = std::max<std::int64_t>(1, bytes);
  for (std::int32_t distance = 1; distance < members; distance *= 2) {
    GoalStep step;
    if (place < distance && place + distance < members) step = {place + distance, -1, bytes, 0};
    if (place >= distance && place < 2 * distance) step = {-1, place - distance, 0, bytes};
    if (step.to >= 0 || step.from >= 0) steps.push_back(step);
  }
  if (!backwards) return steps;
  std::reverse(steps.begin(), steps.end());
  for (auto& step : steps) {
    std::swap(step.to, step.from);
    std::swap(step.sent, step.received);
  }
  return steps;
}

}  // namespace

std::vector<GoalStep> goal_steps(CollectiveKind kind, Bytes full_size, bool exchange, std::int32_t members,
                                 std::int32_t place) {
  if (members < 2) return {};
  const auto bytes = full_size.value();
  const auto whole = std::max<std::int64_t>(1, bytes);
  if (exchange) return {{1 - place, 1 - place, whole, whole}};
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return ring(bytes, members, place, 1);
    case CollectiveKind::all_reduce: return ring(bytes, members, place, 2);
    case CollectiveKind::all_to_all: return everyone(bytes, members, place);
    case CollectiveKind::broadcast: return tree(bytes, members, place, false);
    case CollectiveKind::reduce: return tree(bytes, members, place, true);
    case CollectiveKind::point_to_point:  // around a ring
      return {{(place + 1) % members, (place + members - 1) % members, whole, whole}};
  }
  return {};
}

}  // namespace lockstep::trace
