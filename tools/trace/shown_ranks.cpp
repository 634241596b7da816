#include "tools/trace/shown_ranks.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace lockstep::trace {
namespace {

using Times = std::pair<double, double>;

Times times(const timeline::Timeline& timeline, std::int32_t op, std::int32_t rank) {
  if (!timeline.took_part(op, rank)) return {-1, -1};
  const auto span = timeline.span(op, rank);
  return {span.start.value(), span.end.value()};
}

/// Classes of ranks of the program that have the same spans throughout.
Indexed<topologies::RankId, std::int32_t> classes_by_spans(const program::Program& program,
                                                           const timeline::Timeline& timeline) {
  Indexed<topologies::RankId, std::int32_t> class_of(timeline.ranks(), 0);
  std::vector<bool> stages(position_of(timeline.ranks()), false);  // whose operations were seen
  Indexed<program::CommunicatorId, bool> communicators(program.communicators.size(), false);
  for (std::int32_t id = 0; id < timeline.ops(); ++id) {
    const auto& op = program.ops[id];
    const bool collective = op.kind == program::ProgramOp::Kind::collective;
    // If an operation ran at the same time on all its ranks, it distinguishes ranks only by whether they took part, so
    // one operation for each set of ranks is enough.
    auto known = collective ? communicators[op.communicator] : stages[position_of(op.stage)];
    if (known && timeline.uniform(id)) continue;
    known = true;
    std::map<std::pair<std::int32_t, Times>, std::int32_t> parts;
    for (std::int32_t rank = 0; rank < timeline.ranks(); ++rank) {
      auto& mine = class_of[rank];
      mine =
          parts.try_emplace({mine, times(timeline, id, rank)}, static_cast<std::int32_t>(parts.size())).first->second;
    }
  }
  return class_of;
}

/// One rank of each stage in order, then the second of each that has more, and so on.
void sort_by_stage(const program::Program& program, std::vector<ShownRank>& ranks) {
  std::sort(ranks.begin(), ranks.end(), [](const ShownRank& a, const ShownRank& b) { return a.number < b.number; });
  std::map<std::int32_t, int> seen;
  std::vector<std::pair<std::pair<int, std::int32_t>, ShownRank>> turns;
  for (const auto& rank : ranks) {
    const auto stage = program.stage_of_rank[rank.rank];
    turns.push_back({{seen[stage]++, stage}, rank});
  }
  std::stable_sort(turns.begin(), turns.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = turns[i].second;
}

}  // namespace

std::vector<ShownRank> distinct_ranks(const Simulation& simulation) {
  const auto class_of = classes_by_spans(simulation.program, simulation.run.timeline);
  std::map<std::int32_t, ShownRank> shown;
  for (std::int32_t rank = 0; rank < simulation.program.ranks(); ++rank) {
    const auto number = simulation.ranks.representative[rank];
    auto& it = shown.try_emplace(class_of[rank], ShownRank{rank, number, 0}).first->second;
    if (number < it.number) it = {rank, number, it.alike};
    it.alike += simulation.ranks.size[rank];
  }
  std::vector<ShownRank> result;
  for (const auto& [of_class, it] : shown) result.push_back(it);
  if (simulation.metrics.stages.size() > 1) {
    sort_by_stage(simulation.program, result);
    return result;
  }
  const auto critical = class_of[simulation.metrics.critical_rank];
  std::sort(result.begin(), result.end(), [&](const ShownRank& a, const ShownRank& b) {
    const bool a_waits = class_of[a.rank] != critical, b_waits = class_of[b.rank] != critical;
    return a_waits != b_waits ? b_waits : a.number < b.number;
  });
  return result;
}

}  // namespace lockstep::trace
