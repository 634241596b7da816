#include "sim/studies/replay/against.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "sim/core/errors.hpp"
#include "sim/studies/replay/matched_collectives.hpp"

namespace lockstep::replay {
namespace {

using Key = std::tuple<std::string, std::int32_t, std::int64_t>;  // kind, members, bytes (-1: unknown)
using workloads::CollectiveKind;

Key key_of(const workloads::RecordedJob& job, const workloads::RecordedCollective& what) {
  auto members = job.groups[what.group].size;
  if (what.kind == CollectiveKind::point_to_point) members = 2;
  auto bytes = what.buffer.value_or(Bytes(-1)).value();
  if (what.buffer_is_shard && bytes >= 0 && members > 0 && bytes <= std::numeric_limits<std::int64_t>::max() / members)
    bytes *= members;
  return {kind_text(what), members, bytes};
}

std::map<Key, double> derived(const preparation::PreparedStep& preparation, workloads::StageId stage) {
  std::map<Key, double> counts;
  const auto& step = preparation.step;
  const auto& mesh = *preparation.machine.mesh;
  for (workloads::OpId id = 0; id < step.size(); ++id) {
    const auto& op = step.op(id);
    if (op->kind != workloads::StepOp::Kind::collective || op->given_time) continue;
    if (op.stage != workloads::StepOp::every_stage && op.stage != stage && op.other_stage != stage) continue;
    std::int64_t members = op.other_stage >= 0 ? 2 : 1;
    if (op.other_stage < 0) {
      for (const auto& name : op->axes) {
        for (const auto& factor : mesh.factors(name)) members *= factor.size;
      }
    }
    if (members < 2) continue;
    const auto full = op->full_size.value();
    const auto bytes = op->collective == CollectiveKind::all_to_all ? full / members : full;
    counts[{std::string(name(op->collective)), static_cast<std::int32_t>(members), bytes}] += 1;
  }
  return counts;
}

}  // namespace

workloads::StageId stage_of(const preparation::PreparedStep& preparation, std::int32_t position) {
  const auto& mesh = *preparation.machine.mesh;
  if (!mesh.has_axis("pipeline")) return 0;
  const auto rank = mesh.rank_of(preparation.machine.cluster->device_at_position(position));
  for (const auto& line : mesh.groups({"pipeline"})) {
    const auto found = std::find(line.members.begin(), line.members.end(), rank);
    if (found != line.members.end()) return static_cast<workloads::StageId>(found - line.members.begin());
  }
  return 0;
}

std::vector<ComparedCollective> compared_collectives(const workloads::RecordedJob& job,
                                                     const workloads::RecordedRank& rank,
                                                     const preparation::PreparedStep& preparation) {
  const auto ranks = preparation.machine.mesh->ranks();
  if (rank.rank >= ranks) {
    throw ConfigError({{{rank.file, 0, 0},
                        "",
                        "is of rank " + std::to_string(rank.rank) + ", the scenario has " + std::to_string(ranks),
                        "a scenario of this job"}});
  }
  std::map<Key, ComparedCollective> rows;
  const auto row = [&](const Key& key) -> ComparedCollective& {
    auto& made = rows[key];
    made.kind = std::get<0>(key);
    made.members = std::get<1>(key);
    if (std::get<2>(key) >= 0) made.bytes = Bytes(std::get<2>(key));
    return made;
  };
  const double steps = std::max<double>(1, static_cast<double>(rank.steps.size()));
  for (const auto& collective : rank.collectives) row(key_of(job, collective)).recorded += 1 / steps;
  for (const auto& [key, count] : derived(preparation, stage_of(preparation, rank.rank))) row(key).derived += count;
  std::vector<ComparedCollective> list;
  for (auto& [key, made] : rows) list.push_back(std::move(made));
  const auto agrees = [](const ComparedCollective& one) { return std::abs(one.recorded - one.derived) < 1e-6; };
  std::stable_sort(list.begin(), list.end(), [&](const ComparedCollective& a, const ComparedCollective& b) {
    return std::pair(agrees(a), -a.bytes.value_or(Bytes(0)).value()) <
           std::pair(agrees(b), -b.bytes.value_or(Bytes(0)).value());
  });
  return list;
}

}  // namespace lockstep::replay
