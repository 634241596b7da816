#include "sim/metrics/metrics.hpp"

#include <algorithm>
#include <map>

#include "workloads/sharding/joined_axes.hpp"

namespace lockstep::metrics {

double Metrics::tokens_per_second() const { return static_cast<double>(tokens) / step_time.value(); }
double Metrics::mfu() const {
  return model_flops.value() / (static_cast<double>(chips) * peak.value() * step_time.value());
}
double Metrics::hfu() const {
  return executed_flops.value() / (static_cast<double>(chips) * peak.value() * step_time.value());
}

Breakdown breakdown_of(const program::Program& program, const timeline::Timeline& timeline, std::int32_t rank) {
  return breakdown_of(timeline, RankPieces(program, timeline, rank));
}

Breakdown breakdown_of(const timeline::Timeline& timeline, const RankPieces& rank) {
  Breakdown result;
  for (const auto& [start, length, computing, first] : rank.pieces) {
    (computing    ? result.compute
     : first >= 0 ? result.exposed_comm
                  : result.bubble) += timeline.repetition().in_step({Seconds(start), Seconds(start + length)});
  }
  return result;
}

std::vector<CommunicationUse> communication_of(const workloads::StepGraph& step, const program::Program& program,
                                               const timeline::Timeline& timeline, std::int32_t rank) {
  return communication_of(step, program, timeline, RankPieces(program, timeline, rank));
}

std::vector<CommunicationUse> communication_of(const workloads::StepGraph& step, const program::Program& program,
                                               const timeline::Timeline& timeline, const RankPieces& rank) {
  std::map<std::pair<std::string, std::optional<workloads::CollectiveKind>>, CommunicationUse> uses;
  std::map<const workloads::StepWork*, CommunicationUse*> of_work;  // only looked up
  auto use_of = [&](std::int32_t op) -> CommunicationUse& {
    const auto& of_program = program.ops[op];
    const bool holds = of_program.kind == program::ProgramOp::Kind::compute;
    const auto& vertex = step.op(holds ? of_program.held_for : of_program.vertex);
    auto*& known = of_work[vertex.what];
    if (known != nullptr) return *known;
    const auto axis = vertex->given_time ? vertex->stream : workloads::joined(vertex->axes);
    const auto kind = vertex->given_time ? std::nullopt : std::optional(vertex->collective);
    auto& use = uses[{axis, kind}];
    use.axis = axis;
    use.kind = kind;
    known = &use;
    return use;
  };
  std::vector<std::int32_t> collectives;  // in order: sums round alike however operations share ranks
  timeline.for_each_op_of(rank.rank, [&](std::int32_t op) {
    const auto& of_program = program.ops[op];
    if (of_program.kind == program::ProgramOp::Kind::collective) collectives.push_back(op);
    if (of_program.held > Seconds(0))
      use_of(op).busy += of_program.held * static_cast<double>(timeline.repetition().runs(op));
  });
  std::sort(collectives.begin(), collectives.end());
  for (const auto op : collectives) {
    auto& use = use_of(op);
    const auto span = timeline.simulated(op, rank.rank);
    const auto runs = timeline.repetition().runs(op);
    use.count += runs;
    use.full_size += step.op(program.ops[op].vertex)->full_size * runs;
    use.busy += (span.end - span.start) * static_cast<double>(runs);
  }
  for (const auto& [start, length, computing, first] : rank.pieces) {
    if (computing || first < 0) continue;
    use_of(first).exposed += timeline.repetition().in_step({Seconds(start), Seconds(start + length)});
  }
  std::vector<CommunicationUse> result;
  for (auto& [key, use] : uses) result.push_back(use);
  return result;
}

std::int32_t critical_rank(const timeline::Timeline& timeline) {
  for (std::int32_t rank = 0; rank < timeline.ranks(); ++rank) {
    if (timeline.simulated_end(rank) == timeline.simulated_makespan()) return rank;
  }
  return 0;
}

}  // namespace lockstep::metrics
