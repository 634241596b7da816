#include "sim/collectives/collective_model.hpp"

#include <algorithm>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/tried_groups.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives {
namespace {

const CollectiveAlgorithm& algorithm_named(std::string_view name) {
  for (const auto* algorithm : collective_algorithms()) {
    if (algorithm->name() == name) return *algorithm;
  }
  if (const auto& tokens = network::forwarded_all_to_all(); tokens.name() == name) return tokens;
  throw InternalError("there is no collective algorithm " + std::string(name));
}

}  // namespace

std::string_view ruled(const CollectiveRules& rules, const topologies::Cluster& cluster, const GroupNetwork& groups,
                       workloads::CollectiveKind kind) {
  const auto rule = rules.algorithms.find(kind);
  if (rule == rules.algorithms.end() || !algorithm_named(rule->second).serves(kind, cluster, groups.structure()))
    return "";
  return rule->second;
}

CollectiveModel::CollectiveModel(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                                 CollectiveRules rules)
    : cluster_(cluster), mesh_(mesh), rules_(std::move(rules)) {}

CollectiveModel::CollectiveModel(const topologies::Mesh& mesh, TriedGroups& tried, CollectiveRules rules)
    : cluster_(tried.cluster()), mesh_(mesh), tried_(&tried), rules_(std::move(rules)) {}

Seconds CollectiveModel::cost(workloads::CollectiveKind kind, const std::vector<std::string>& axes, Bytes full_size,
                              workloads::TokenCopies copies) {
  const auto& known = groups(in_mesh_order(axes));
  return known.cost(kind, full_size, ruled(known, kind), copies);
}

std::string CollectiveModel::algorithm(workloads::CollectiveKind kind, const std::vector<std::string>& axes,
                                       Bytes full_size) {
  const auto& known = groups(in_mesh_order(axes));
  return known.choose(kind, full_size, ruled(known, kind)).label;
}

CollectiveModel::Lowered CollectiveModel::lower(workloads::CollectiveKind kind, const std::vector<std::string>& axes,
                                                Bytes full_size, std::string_view wanted,
                                                workloads::TokenCopies copies) {
  auto ordered = in_mesh_order(axes);
  const auto& known = groups(ordered);
  auto choice = known.choose(kind, full_size, wanted.empty() ? ruled(known, kind) : wanted, copies);
  const auto* algorithm =
      choice.algorithm != nullptr ? choice.algorithm : collective_algorithms().front();  // a group of one: no flows
  return {{std::move(ordered), std::string(algorithm->name())},
          std::move(choice.label),
          std::move(choice.phases),
          choice.cost};
}

Seconds CollectiveModel::barrier(const std::vector<std::string>& axes) {
  return groups(in_mesh_order(axes)).structure().barrier;
}

std::vector<std::string> CollectiveModel::algorithms(workloads::CollectiveKind kind,
                                                     const std::vector<std::string>& axes) {
  const auto& known = groups(in_mesh_order(axes));
  std::vector<std::string> names;
  for (const auto* algorithm : collective_algorithms()) {
    if (made_for_groups(*algorithm) == nullptr && algorithm->serves(kind, cluster_, known.structure()))
      names.emplace_back(algorithm->name());
  }
  return names;
}

const Communicator& CollectiveModel::communicator(const std::pair<std::vector<std::string>, std::string>& layout) {
  return groups(layout.first).communicator(algorithm_named(layout.second));
}

const StagePairs& CollectiveModel::stage_pairs(workloads::StageId low, workloads::StageId high) {
  const auto found = stage_pairs_.find({low, high});
  if (found != stage_pairs_.end()) return found->second;
  return stage_pairs_.emplace(std::pair(low, high), connect_stages(cluster_, mesh_, lines(), low, high)).first->second;
}

const std::vector<PipelineLine>& CollectiveModel::lines() {
  if (lines_.empty()) lines_ = pipeline_lines(mesh_);
  return lines_;
}

GroupNetwork& CollectiveModel::groups(const std::vector<std::string>& axes_in_mesh_order) {
  const auto found = groups_.find(axes_in_mesh_order);
  if (found != groups_.end()) return found->second;
  auto* tried = tried_ == nullptr ? nullptr : tried_->along(mesh_, axes_in_mesh_order);
  if (tried != nullptr) return *tried;
  return groups_.try_emplace(axes_in_mesh_order, cluster_, mesh_, axes_in_mesh_order, rules_.units).first->second;
}

std::vector<std::string> CollectiveModel::in_mesh_order(const std::vector<std::string>& axes) const {
  std::vector<std::string> ordered;
  for (const auto& axis : mesh_.axes()) {
    for (const auto& name : axes) {
      if (topologies::axis_part(name).axis == axis.name) ordered.push_back(name);
    }
  }
  return ordered;
}

}  // namespace lockstep::collectives
