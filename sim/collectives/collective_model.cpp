#include "sim/collectives/collective_model.hpp"

#include <algorithm>
#include <utility>

#include "sim/collectives/communicator.hpp"
#include "sim/core/errors.hpp"

namespace lockstep {
namespace {

const std::string torus_layout = "torus";

bool inside_a_torus(const Cluster& cluster, const Mesh& mesh, const std::vector<std::string>& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) {
    const auto factors = mesh.factors(axis);
    return std::all_of(factors.begin(), factors.end(), [&](const Factor& factor) {
      return factor.size == 1 || cluster.axes()[static_cast<std::size_t>(factor.axis)].kind == PhysicalAxis::Kind::torus;
    });
  });
}

const CollectiveAlgorithm& algorithm_named(std::string_view name) {
  for (const auto* algorithm : collective_algorithms()) {
    if (algorithm->name() == name) return *algorithm;
  }
  throw InternalError("there is no collective algorithm " + std::string(name));
}

}  // namespace

CollectiveModel::CollectiveModel(const Cluster& cluster, const Mesh& mesh, CollectiveRules rules)
    : cluster_(cluster), mesh_(mesh), rules_(std::move(rules)) {}

Seconds CollectiveModel::cost(CollectiveKind kind, const std::vector<std::string>& axes, Bytes full_size, TokenCopies copies) {
  const auto& known = groups(in_mesh_order(axes));
  return known.network ? choose(known, kind, full_size, copies).cost : lockstep::cost(kind, known.torus, full_size);
}

std::string CollectiveModel::algorithm(CollectiveKind kind, const std::vector<std::string>& axes, Bytes full_size) {
  const auto& known = groups(in_mesh_order(axes));
  return known.network ? choose(known, kind, full_size, {}).name() : algorithm_name(kind, known.torus);
}

CollectiveModel::Lowered CollectiveModel::lower(CollectiveKind kind, const std::vector<std::string>& axes, Bytes full_size, std::string_view wanted, TokenCopies copies) {
  auto ordered = in_mesh_order(axes);
  const auto& known = groups(ordered);
  if (!known.network) {
    return {{std::move(ordered), torus_layout}, algorithm_name(kind, known.torus), plan(kind, known.torus, full_size), lockstep::cost(kind, known.torus, full_size)};
  }
  auto choice = wanted.empty() ? choose(known, kind, full_size, copies) : known.network->choose(kind, full_size, wanted, copies);
  return {{std::move(ordered), std::string(choice.algorithm->name())}, choice.name(), std::move(choice.phases), choice.cost};
}

std::vector<std::string> CollectiveModel::algorithms(CollectiveKind kind, const std::vector<std::string>& axes) {
  const auto& known = groups(in_mesh_order(axes));
  std::vector<std::string> names;
  if (!known.network) return names;
  for (const auto* algorithm : collective_algorithms()) {
    if (algorithm->serves(kind, cluster_, known.network->structure())) names.emplace_back(algorithm->name());
  }
  return names;
}

const Communicator& CollectiveModel::communicator(const std::pair<std::vector<std::string>, std::string>& layout) {
  auto& known = groups(layout.first);
  if (known.network) return known.network->communicator(algorithm_named(layout.second));
  if (!known.torus_communicator) known.torus_communicator = std::make_unique<Communicator>(make_communicator(mesh_, layout.first));
  return *known.torus_communicator;
}

CollectiveModel::Groups& CollectiveModel::groups(const std::vector<std::string>& axes_in_mesh_order) {
  const auto [found, is_new] = groups_.try_emplace(axes_in_mesh_order);
  if (is_new) {
    if (inside_a_torus(cluster_, mesh_, axes_in_mesh_order)) {
      found->second.torus = mesh_.dimensions(axes_in_mesh_order);
    } else {
      found->second.network = std::make_unique<GroupNetwork>(cluster_, mesh_, axes_in_mesh_order, rules_.units);
    }
  }
  return found->second;
}

std::vector<std::string> CollectiveModel::in_mesh_order(const std::vector<std::string>& axes) const {
  std::vector<std::string> ordered;
  for (const auto& axis : mesh_.axes()) {
    for (const auto& name : axes) {
      if (axis_part(name).axis == axis.name) ordered.push_back(name);
    }
  }
  return ordered;
}

CollectiveChoice CollectiveModel::choose(const Groups& known, CollectiveKind kind, Bytes full_size, TokenCopies copies) const {
  const auto forced = rules_.algorithms.find(kind);
  if (forced != rules_.algorithms.end() && algorithm_named(forced->second).serves(kind, cluster_, known.network->structure())) {
    return known.network->choose(kind, full_size, forced->second, copies);
  }
  return known.network->choose(kind, full_size, "", copies);
}

}  // namespace lockstep
