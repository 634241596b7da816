#include "sim/studies/place_ranks/placement_bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "sim/collectives/lower_bound.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/studies/design_networks/step_bound.hpp"
#include "sim/studies/place_ranks/unit_orders.hpp"
#include "topologies/cluster/node_sets.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::place_ranks {
namespace {

using topologies::Cluster;
using topologies::DeviceId;
using Kind = workloads::CollectiveKind;

/// The fastest cable of a host, where a file says it.
BytesPerSecond fastest_adapter(const topologies::GivenNetwork& given) {
  BytesPerSecond fastest(0);
  for (const auto& cable : given.graph->cables) {
    const bool of_host = std::holds_alternative<topologies::AdapterEnd>(cable.from) ||
                         std::holds_alternative<topologies::AdapterEnd>(cable.to);
    if (of_host && cable.rate) fastest = std::max(fastest, *cable.rate * static_cast<double>(cable.count));
  }
  return fastest;
}

int size_between(const Cluster& cluster, const std::vector<topologies::Factor>& factors) {
  int size = 1;
  for (const auto& factor : factors) {
    if (cluster.axes()[factor.axis].kind == topologies::PhysicalAxis::Kind::scale_out) size *= factor.size;
  }
  return size;
}

/// The units that groups along some axes reach over.
int units_along(const preparation::Machine& machine, const std::vector<std::string>& axes) {
  int units = 1;
  for (const auto& axis : axes) units *= size_between(*machine.cluster, machine.mesh->factors(axis));
  return units;
}

/// The bytes of a collective's array that no way spares: of the copies of a token each unit gets one at least.
double least_bytes(const workloads::StepWork& work, int units) {
  const double share =
      work.collective == Kind::all_to_all && work.copies.each > 1 ? std::min(1.0, work.copies.share_across(units)) : 1;
  return share * static_cast<double>(work.full_size.value());
}

/// A collective of one group as a time that no algorithm undercuts.
class LeastCollectives {
 public:
  LeastCollectives(const preparation::PreparedStep& prepared, const program::Program& program)
      : step_(prepared.step), machine_(prepared.machine), program_(program) {}

  /// None: an operation that has no such bound, as sends between stages.
  [[nodiscard]] std::optional<double> of(const program::ProgramOp& op) {
    const auto vertex = step_.op(op.vertex);
    const bool is_plain = op.kind == program::ProgramOp::Kind::collective && vertex.other_stage < 0 &&
                          !vertex->given_time && vertex->collective != Kind::point_to_point;
    if (!is_plain) return {};
    const auto key = std::pair(vertex->collective, op.communicator);
    const auto [known, is_new] = bounds_.try_emplace(key);
    if (is_new) {
      std::vector<DeviceId> members;
      for (const auto rank : program_.communicators[op.communicator].groups.front().members)
        members.push_back(machine_.mesh->device_of(rank));
      known->second = collectives::collective_bound(vertex->collective, *machine_.cluster, {members});
    }
    if (!known->second) return 0;
    const auto bytes = least_bytes(*vertex.what, units_along(machine_, vertex->axes));
    return known->second->share * bytes / known->second->capacity.value();
  }

 private:
  const workloads::StepGraph& step_;
  const preparation::Machine& machine_;
  const program::Program& program_;
  std::map<std::pair<Kind, program::CommunicatorId>, std::optional<collectives::CollectiveBound>> bounds_;
};

Seconds least_duration(const program::ProgramOp& op) {
  auto least = op.duration;
  if (!op.on_chips.empty()) least = op.on_chips[0].duration;
  for (const auto& on_chip : op.on_chips) least = std::min(least, on_chip.duration);
  return least;
}

/// How many stages on the fastest chips all stages are worth for operations that a kind of chip takes `slowness` times
/// as long for. The slowest unit of a stage sets its pace, and of stages of u units the k-th best one's is at best the
/// (k u)-th fastest of all units.
double worth_of_stages(const std::vector<double>& slowness, const std::vector<int>& units_of_kind, int units_of_stage) {
  std::vector<std::pair<double, int>> kinds;
  for (std::size_t kind = 0; kind < slowness.size(); ++kind) kinds.emplace_back(slowness[kind], units_of_kind[kind]);
  std::sort(kinds.begin(), kinds.end());
  double worth = 0;
  int rest = 0;  // units of faster kinds that make no whole stage
  for (const auto& [slow, units] : kinds) {
    worth += (rest + units) / units_of_stage / slow;
    rest = (rest + units) % units_of_stage;
  }
  return worth;
}

/// Units of each kind of chip; nothing where a stage is not made of whole units.
std::vector<int> units_by_kind(const preparation::Machine& machine, int stages) {
  const auto& cluster = *machine.cluster;
  if (cluster.chips().count() == 1 || !machine.mesh->has_axis("pipeline") ||
      units_along(machine, {"pipeline"}) != stages)
    return {};
  std::vector<int> units(position_of(cluster.chips().count()), 0);
  for (DeviceId device = 0; device < cluster.devices(); device += cluster.unit_size())
    ++units[position_of(cluster.chip_kind(device))];
  return units;
}

/// What some stage takes at least, however layers are split over stages and whichever units make a stage: all that a
/// step computes, or only those operations for which slow chips are slow, over what the stages are worth for these.
Seconds least_compute(const program::Program& program, const preparation::Machine& machine) {
  struct Work {
    std::vector<double> slowness;  ///< of each kind
    Seconds least{0};
    [[nodiscard]] double most() const { return *std::max_element(slowness.begin(), slowness.end()); }
  };
  const std::set<workloads::StageId> stages(program.stage_of_rank.begin(), program.stage_of_rank.end());
  const auto count = static_cast<int>(stages.size());
  auto units = units_by_kind(machine, count);
  if (units.empty()) units = {count};
  int units_of_stage = 0;
  for (const int of_kind : units) units_of_stage += of_kind;
  units_of_stage /= count;
  std::vector<Work> works;
  for (const auto& op : program.ops) {
    if (op.kind != program::ProgramOp::Kind::compute || op.streams.front() != 0) continue;
    Work work{std::vector<double>(units.size(), 1), least_duration(op)};
    if (work.least == Seconds(0)) continue;
    for (std::size_t kind = 0; kind < units.size() && units.size() == op.on_chips.size(); ++kind)
      work.slowness[kind] = op.on_chips[kind].duration / work.least;
    works.push_back(std::move(work));
  }
  std::stable_sort(works.begin(), works.end(), [](const Work& a, const Work& b) { return a.most() > b.most(); });
  std::vector<double> slowness(units.size(), std::numeric_limits<double>::infinity());
  Seconds sum(0), bound(0);
  for (std::size_t i = 0; i < works.size(); ++i) {
    sum += works[i].least;
    for (std::size_t kind = 0; kind < slowness.size(); ++kind)
      slowness[kind] = std::min(slowness[kind], works[i].slowness[kind]);
    if (i + 1 < works.size() && works[i + 1].slowness == works[i].slowness) continue;
    bound = std::max(bound, sum * (1 / worth_of_stages(slowness, units, units_of_stage)));
  }
  return bound * (1 - 1e-9);
}

Seconds bound_of_nodes(const scenario::Scenario& scenario, bool any_layers) {
  const auto ideal = on_a_crossbar(scenario);
  const auto prepared = preparation::prepare_step(ideal);
  const auto program = preparation::lower_with_perturbations(ideal, prepared);
  // Where chips differ, another order may split the layers in another way; and a designed schedule follows the sends.
  const auto* schedule = workloads::find_schedule(scenario.pipeline.schedule);
  const bool differs = any_layers || (scenario.pipeline.layers_by_speed && scenario.cluster.chips().count() > 1);
  if (differs || (schedule != nullptr && schedule->designs)) return least_compute(program, prepared.machine);
  LeastCollectives least(prepared, program);
  return design_networks::step_bound(program, [&](const program::ProgramOp& op) { return least.of(op); });
}

/// Groups along some axes: of how many units, how many members in each, and what one of them moves in a step.
struct Traffic {
  int units = 1, members = 1;
  std::map<workloads::StageId, std::map<Kind, double>> bytes;  ///< by stage that has such groups
};

std::vector<Traffic> traffic_of(const preparation::PreparedStep& prepared) {
  std::map<std::vector<std::string>, Traffic> by_axes;
  for (workloads::OpId id = 0; id < prepared.step.size(); ++id) {
    const auto op = prepared.step.op(id);
    const bool counts = op->kind == workloads::StepWork::Kind::collective && op.other_stage < 0 && !op->given_time &&
                        op->collective != Kind::point_to_point;
    if (!counts) continue;
    auto& traffic = by_axes[op->axes];
    traffic.units = traffic.members = 1;
    for (const auto& axis : op->axes) {
      const auto factors = prepared.machine.mesh->factors(axis);
      const int between = size_between(*prepared.machine.cluster, factors);
      int all = 1;
      for (const auto& factor : factors) all *= factor.size;
      traffic.units *= between;
      traffic.members *= all / between;
    }
    traffic.bytes[op.stage][op->collective] += least_bytes(*op.what, traffic.units);
  }
  std::vector<Traffic> found;
  for (auto& [axes, traffic] : by_axes) {
    if (traffic.units > 1) found.push_back(std::move(traffic));
  }
  return found;
}

/// What crosses the edge of a set of so many units at least, each way: a set that the groups' size does not divide has
/// the rest of one group, whose other members are outside, and so have all that share its units.
collectives::CutNeeds least_across(const std::vector<Traffic>& all, int units_inside, int chips_of_unit) {
  collectives::CutNeeds sum;
  for (const auto& traffic : all) {
    const int rest = units_inside % traffic.units;
    if (rest == 0) continue;
    const double n = traffic.units * traffic.members, k = rest * traffic.members;
    const double alike = static_cast<double>(chips_of_unit) / traffic.members;
    std::optional<collectives::CutNeeds> least;  // of the stages one of whose groups may be the one that is cut
    for (const auto& [stage, kinds] : traffic.bytes) {
      collectives::CutNeeds needs;
      for (const auto& [kind, bytes] : kinds) {
        const bool is_rooted = kind == Kind::broadcast || kind == Kind::reduce;
        const auto each = is_rooted ? collectives::CutNeeds{} : collectives::needs_across(kind, n, k, false);
        needs.in += each.in * bytes * alike;
        needs.out += each.out * bytes * alike;
      }
      if (!least) least = needs;
      least = collectives::CutNeeds{std::min(least->in, needs.in), std::min(least->out, needs.out)};
    }
    if (!least) continue;
    sum.in += least->in;
    sum.out += least->out;
  }
  return sum;
}

PlacementBound bound_of_cuts(const preparation::PreparedStep& prepared) {
  const auto& cluster = *prepared.machine.cluster;
  const auto traffic = traffic_of(prepared);
  PlacementBound bound;
  for (const auto& sets : natural_sets(cluster)) {
    Indexed<topologies::NodeSetId, int> devices(sets.count, 0);
    for (DeviceId device = 0; device < cluster.devices(); ++device) {
      if (sets.of_node[device] >= 0) ++devices[sets.of_node[device]];
    }
    const auto edges = edges_of(cluster, sets);
    for (const auto set : edges.ids()) {
      const int inside = devices[set];
      if (inside == 0 || inside == cluster.devices() || inside % cluster.unit_size() != 0) continue;
      const auto needs = least_across(traffic, inside / cluster.unit_size(), cluster.unit_size());
      for (const auto& [bytes, rate, out] :
           {std::tuple(needs.in, edges[set].in, false), {needs.out, edges[set].out, true}}) {
        if (bytes <= 0 || rate <= BytesPerSecond(0)) continue;
        const Seconds time(bytes / rate.value());
        if (time > bound.time) bound = {time, edge_text(cluster, sets, set, out)};
      }
    }
  }
  return bound;
}

}  // namespace

scenario::Scenario on_a_crossbar(scenario::Scenario scenario) {
  auto& cluster = scenario.cluster;
  if (const auto* given = std::get_if<topologies::GivenNetwork>(&cluster.fabric.kind)) {
    auto& node = std::get<topologies::NodeSpec>(cluster.unit);
    node.nic = std::max(node.nic, fastest_adapter(*given));
    for (auto& group : cluster.groups) group.node.nic = std::max(group.node.nic, node.nic);
  }
  cluster.fabric.kind = topologies::Crossbar{};
  cluster.fabric.routing = topologies::FabricRouting::spray;
  cluster.fabric.nic_latency = cluster.fabric.switch_latency = Seconds(0);
  cluster.fabric.incast = cluster.fabric.step_growth = 0;
  cluster.fabric.oversubscription.clear();
  cluster.order = {};
  cluster.background.clear();
  scenario.perturbations.clear();
  return scenario;
}

PlacementBound placement_bound(const scenario::Scenario& scenario, bool any_layers) {
  PlacementBound bound{bound_of_nodes(scenario, any_layers), "nodes and their NICs alone"};
  if (any_layers) return {bound.time, "compute of the stages alone"};
  const auto cuts = bound_of_cuts(preparation::prepare_step(scenario));
  return cuts.time > bound.time ? cuts : bound;
}

}  // namespace lockstep::place_ranks
