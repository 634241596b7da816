#include "sim/preparation/known_machines.hpp"

#include <algorithm>
#include <utility>

#include "sim/preparation/model_inputs_private.hpp"
#include "sim/preparation/preparing_private.hpp"

namespace lockstep::preparation {
namespace {

constexpr std::size_t most = 2;  // two that take turns stay known; each may be large

/// The first that is equal becomes the front; null if none is.
template <class Known, class Equal>
const Known* found(std::deque<Known>& known, Equal equal) {
  const auto at = std::find_if(known.begin(), known.end(), equal);
  if (at == known.end()) return nullptr;
  std::rotate(known.begin(), at, std::next(at));
  return &known.front();
}

template <class Known>
const Known& added(std::deque<Known>& known, Known one) {
  known.push_front(std::move(one));
  if (known.size() > most) known.pop_back();
  return known.front();
}

}  // namespace

std::shared_ptr<const topologies::Cluster> KnownMachines::cluster(const scenario::Scenario& scenario) {
  const auto* known = found(clusters_, [&](const KnownCluster& one) {
    return one.spec == scenario.cluster && one.perturbations == scenario.perturbations;
  });
  if (known != nullptr) return known->cluster;
  auto made = std::make_shared<const topologies::Cluster>(cluster_of(scenario));
  return added(clusters_, {scenario.cluster, scenario.perturbations, std::move(made)}).cluster;
}

Machine KnownMachines::machine(const std::shared_ptr<const topologies::Cluster>& cluster,
                               std::vector<topologies::MeshAxis> axes, std::string why_placed,
                               const collectives::CollectiveRules& rules) {
  const auto* known = found(machines_, [&](const KnownMachine& one) {
    return one.machine.cluster == cluster && one.axes == axes && one.why_placed == why_placed && one.rules == rules;
  });
  if (known != nullptr) return known->machine;
  auto mesh = std::make_shared<const topologies::Mesh>(*cluster, axes, why_placed);
  auto collectives = std::make_shared<collectives::CollectiveModel>(*cluster, *mesh, rules);
  return added(machines_, {std::move(axes), std::move(why_placed), rules,
                           Machine{cluster, std::move(mesh), std::move(collectives)}})
      .machine;
}

struct KnownMachines::KnownModel {
  ModelInputs inputs;
  ShardedModel model;
};

ShardedModel KnownMachines::model(const scenario::Scenario& scenario,
                                  const std::vector<topologies::AxisRequest>& axes) {
  if (scenario.replay) return sharded_model(scenario, axes);  // its operations are read, not derived
  ModelInputs inputs(scenario, axes);
  const auto* known = found(models_, [&](const auto& one) { return one->inputs == inputs; });
  if (known != nullptr) return (*known)->model;
  auto model = sharded_model(scenario, axes);
  return added(models_, std::shared_ptr<const KnownModel>(new KnownModel{std::move(inputs), std::move(model)}))->model;
}

}  // namespace lockstep::preparation
