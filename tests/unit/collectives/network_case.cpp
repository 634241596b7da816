#include "tests/unit/collectives/network_case.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tests/unit/engine/child_run.hpp"
#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::test {

NodeSpec node(int chips) {
  NodeSpec node;
  node.name = "test-node";
  node.chip = chip(never);
  node.chips = chips;
  node.scale_up_link = BytesPerSecond(port);
  node.scale_up_latency = Seconds(us);
  node.nics = chips;
  node.nic = BytesPerSecond(nic);
  node.pcie = BytesPerSecond(2 * nic);
  return node;
}

NodeSpec mesh_node(int chips) {
  auto mesh = node(chips);
  mesh.scale_up = NodeSpec::ScaleUp::full_mesh;
  mesh.scale_up_link = BytesPerSecond(60e9);
  return mesh;
}

FabricSpec crossbar() {
  FabricSpec fabric;
  fabric.name = "crossbar";
  fabric.nic_latency = Seconds(2 * us);
  fabric.switch_latency = Seconds(0.5 * us);
  return fabric;
}

FabricSpec fat_tree(int nics_down, double oversubscription, FabricRouting routing, std::uint64_t seed) {
  auto fabric = crossbar();
  fabric.name = "fat tree";
  fabric.kind = FatTree{};
  fabric.routing = routing;
  fabric.seed = seed;
  fabric.oversubscription = {oversubscription};
  fabric.radix = nics_down + static_cast<int>(nics_down / oversubscription);
  return fabric;
}

ClusterSpec nodes(int count, NodeSpec node, FabricSpec fabric) {
  ClusterSpec spec;
  spec.unit = std::move(node);
  spec.units = count;
  spec.fabric = std::move(fabric);
  return spec;
}

ClusterSpec pods(int count, int x, int y) {
  ClusterSpec spec;
  spec.unit = TorusSpec{chip(always), {x, y}, {}};
  spec.units = count;
  spec.fabric = crossbar();
  return spec;
}

std::vector<MeshAxis> all_as_one(const Cluster& cluster) {
  MeshAxis all{"all", {}};
  for (std::size_t i = 0; i < cluster.axes().size(); ++i)
    all.factors.push_back({static_cast<int>(i), cluster.axes()[i].size, 1});
  return {all};
}

std::vector<MeshAxis> by_unit_and_local(const Cluster& cluster) {
  MeshAxis unit{"unit", {}}, local{"local", {}};
  for (std::size_t i = 0; i < cluster.axes().size(); ++i) {
    const auto& axis = cluster.axes()[i];
    auto& factors = axis.kind == PhysicalAxis::Kind::scale_out ? unit.factors : local.factors;
    factors.push_back({static_cast<int>(i), axis.size, 1});
  }
  return {unit, local};
}

namespace {

std::unique_ptr<Cluster> with_faults(const ClusterSpec& spec, const std::vector<Perturbation>& faults) {
  auto cluster = std::make_unique<Cluster>(build_cluster(spec));
  cluster->avoid(missing_in_networks(faults, *cluster));
  return cluster;
}

}  // namespace

NetworkCase::NetworkCase(const ClusterSpec& spec, const std::string& group, std::vector<Perturbation> faults)
    : cluster_(with_faults(spec, faults)),
      mesh_(
          std::make_unique<Mesh>(*cluster_, group == "all" ? all_as_one(*cluster_) : by_unit_and_local(*cluster_), "")),
      network_(std::make_unique<GroupNetwork>(*cluster_, *mesh_, std::vector{group})),
      faults_(std::move(faults)) {}

NetworkCase::NetworkCase(const ClusterSpec& spec, std::vector<MeshAxis> axes, const std::vector<std::string>& group,
                         std::vector<Perturbation> faults)
    : cluster_(with_faults(spec, faults)),
      mesh_(std::make_unique<Mesh>(*cluster_, std::move(axes), "")),
      network_(std::make_unique<GroupNetwork>(*cluster_, *mesh_, group)),
      faults_(std::move(faults)) {}

Program NetworkCase::program(const CollectiveChoice& choice) const {
  auto program = empty_program(*cluster_);
  add_collective(program, network_->communicator(*choice.algorithm), choice);
  if (const auto why = perturb(program, faults_, *cluster_, *mesh_); !why.empty()) throw std::runtime_error(why);
  return program;
}

double NetworkCase::simulated(const CollectiveChoice& choice) const {
  const auto made = program(choice);
  const auto spans = run_in_child(made, EngineKind::simgrid);
  double last = 0;
  for (std::int32_t rank = 0; rank < made.ranks(); ++rank) last = std::max(last, spans.end(0, rank));
  return last;
}

double NetworkCase::referenced(const CollectiveChoice& choice) const {
  const auto timeline = run_reference(program(choice)).timeline;
  return timeline.span(0, 0).end.value();
}

Program empty_program(const Cluster& cluster) {
  Program program;
  program.streams = {"compute"};
  program.stage_of_rank.assign(static_cast<std::size_t>(cluster.devices()), 0);
  program.slowdown_of_rank.assign(static_cast<std::size_t>(cluster.devices()), 1.0);
  for (LinkId link = 0; link < cluster.links(); ++link) program.links.push_back(cluster.link(link).bandwidth);
  return program;
}

void add_collective(Program& program, const Communicator& communicator, const CollectiveChoice& choice) {
  ProgramOp op;
  op.kind = ProgramOp::Kind::collective;
  op.vertex = static_cast<std::int32_t>(program.ops.size());
  op.streams = {static_cast<std::int32_t>(program.streams.size())};
  op.communicator = static_cast<std::int32_t>(program.communicators.size());
  op.phases = choice.phases;
  op.closed_form = choice.cost;
  program.streams.push_back("comm" + std::to_string(op.vertex));
  program.communicators.push_back(communicator);
  program.ops.push_back(std::move(op));
}

}  // namespace lockstep::test
