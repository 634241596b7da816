#include "tests/unit/collectives/network_case.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/engine/engine.hpp"
#include "tests/unit/engine/child_run.hpp"
#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::test {

topologies::NodeSpec node(int chips) {
  topologies::NodeSpec node;
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

topologies::NodeSpec mesh_node(int chips) {
  auto mesh = node(chips);
  mesh.scale_up = topologies::NodeSpec::ScaleUp::full_mesh;
  mesh.scale_up_link = BytesPerSecond(60e9);
  return mesh;
}

topologies::FabricSpec crossbar() {
  topologies::FabricSpec fabric;
  fabric.name = "crossbar";
  fabric.nic_latency = Seconds(2 * us);
  fabric.switch_latency = Seconds(0.5 * us);
  return fabric;
}

topologies::FabricSpec congested(double incast, double step_growth) {
  auto fabric = crossbar();
  fabric.incast = incast;
  fabric.step_growth = step_growth;
  return fabric;
}

topologies::FabricSpec fat_tree(int nics_down, double oversubscription, topologies::FabricRouting routing,
                                std::uint64_t seed) {
  auto fabric = crossbar();
  fabric.name = "fat tree";
  fabric.kind = topologies::FatTree{};
  fabric.routing = routing;
  fabric.seed = seed;
  fabric.oversubscription = {oversubscription};
  fabric.radix = nics_down + static_cast<int>(nics_down / oversubscription);
  return fabric;
}

topologies::ClusterSpec nodes(int count, topologies::NodeSpec node, topologies::FabricSpec fabric) {
  topologies::ClusterSpec spec;
  spec.unit = std::move(node);
  spec.units = count;
  spec.fabric = std::move(fabric);
  return spec;
}

topologies::ClusterSpec pods(int count, int x, int y) {
  topologies::ClusterSpec spec;
  spec.unit = topologies::TorusSpec{chip(always), {x, y}, {}};
  spec.units = count;
  spec.fabric = crossbar();
  return spec;
}

std::vector<topologies::MeshAxis> all_as_one(const topologies::Cluster& cluster) {
  topologies::MeshAxis all{"all", {}};
  for (std::size_t i = 0; i < cluster.axes().size(); ++i)
    all.factors.push_back({static_cast<int>(i), cluster.axes()[i].size, 1});
  return {all};
}

std::vector<topologies::MeshAxis> by_unit_and_local(const topologies::Cluster& cluster) {
  topologies::MeshAxis unit{"unit", {}}, local{"local", {}};
  for (std::size_t i = 0; i < cluster.axes().size(); ++i) {
    const auto& axis = cluster.axes()[i];
    auto& factors = axis.kind == topologies::PhysicalAxis::Kind::scale_out ? unit.factors : local.factors;
    factors.push_back({static_cast<int>(i), axis.size, 1});
  }
  return {unit, local};
}

namespace {

std::unique_ptr<topologies::Cluster> with_faults(const topologies::ClusterSpec& spec,
                                                 const std::vector<program::Perturbation>& faults) {
  auto cluster = std::make_unique<topologies::Cluster>(build_cluster(spec));
  cluster->avoid(missing_in_networks(faults, *cluster));
  return cluster;
}

}  // namespace

NetworkCase::NetworkCase(const topologies::ClusterSpec& spec, const std::string& group,
                         std::vector<program::Perturbation> faults)
    : cluster_(with_faults(spec, faults)),
      mesh_(std::make_unique<topologies::Mesh>(
          *cluster_, group == "all" ? all_as_one(*cluster_) : by_unit_and_local(*cluster_), "")),
      network_(std::make_unique<collectives::GroupNetwork>(*cluster_, *mesh_, std::vector{group})),
      faults_(std::move(faults)) {}

NetworkCase::NetworkCase(const topologies::ClusterSpec& spec, std::vector<topologies::MeshAxis> axes,
                         const std::vector<std::string>& group, std::vector<program::Perturbation> faults)
    : cluster_(with_faults(spec, faults)),
      mesh_(std::make_unique<topologies::Mesh>(*cluster_, std::move(axes), "")),
      network_(std::make_unique<collectives::GroupNetwork>(*cluster_, *mesh_, group)),
      faults_(std::move(faults)) {}

program::Program NetworkCase::program(const collectives::CollectiveChoice& choice) const {
  auto program = empty_program(*cluster_);
  add_collective(program, network_->communicator(*choice.algorithm), choice);
  if (const auto why = perturb(program, faults_, *cluster_, *mesh_); !why.empty()) throw std::runtime_error(why);
  return program;
}

double NetworkCase::simulated(const collectives::CollectiveChoice& choice) const {
  const auto made = program(choice);
  const auto spans = run_in_child(made, engine::EngineKind::simgrid);
  double last = 0;
  for (std::int32_t rank = 0; rank < made.ranks(); ++rank) last = std::max(last, spans.end(0, rank));
  return last;
}

double NetworkCase::shared(const collectives::CollectiveChoice& choice) const {
  spdlog::logger log("quiet");
  return engine::run(program(choice), {engine::EngineKind::max_min, {}, false}, log).timeline.makespan().value();
}

double NetworkCase::referenced(const collectives::CollectiveChoice& choice) const {
  const auto timeline = run_reference(program(choice)).timeline;
  return timeline.span(0, 0).end.value();
}

program::Program empty_program(const topologies::Cluster& cluster) {
  program::Program program;
  program.streams = {"compute"};
  program.stage_of_rank.assign(static_cast<std::size_t>(cluster.devices()), 0);
  program.slowdown_of_rank.assign(static_cast<std::size_t>(cluster.devices()), 1.0);
  for (topologies::LinkId link = 0; link < cluster.links(); ++link)
    program.links.push_back(cluster.link(link).bandwidth);
  return program;
}

void add_collective(program::Program& program, const collectives::Communicator& communicator,
                    const collectives::CollectiveChoice& choice) {
  program::ProgramOp op;
  op.kind = program::ProgramOp::Kind::collective;
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
