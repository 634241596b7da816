// No simulated collective is faster than the bound of ports and cuts (sim/collectives/lower_bound.hpp): on random
// graphs of switches, read as their owners' files would give them, with random nodes, rank orders and groups, for every
// kind and every algorithm that serves, run by the max_min engine.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>

#include "sim/collectives/group_network.hpp"
#include "sim/collectives/lower_bound.hpp"
#include "sim/engine/engine.hpp"
#include "tests/unit/topologies/graph_of_cluster.hpp"

namespace lockstep::test {
namespace {

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}
  int between(int least, int most) { return least + static_cast<int>(random_() % position_of(most - least + 1)); }
  bool likely() { return between(0, 2) > 0; }

  /// Switches in a random tree with further cables across it; adapters on random switches.
  topologies::NetworkGraph graph(int hosts, int adapters) {
    topologies::NetworkGraph graph;
    const int switches = between(1, 8);
    const auto cable = [&](topologies::CableEnd from, topologies::CableEnd to) {
      graph.cables.push_back({from, to, between(1, 3), BytesPerSecond(between(1, 8) * 10e9), {}, ""});
    };
    for (int id = 0; id < switches; ++id) {
      graph.switches.push_back({"switch" + std::to_string(id)});
      if (id > 0) cable(topologies::SwitchEnd{id}, topologies::SwitchEnd{between(0, id - 1)});
    }
    for (int more = between(0, 4); switches > 1 && more > 0; --more) {
      const int one = between(0, switches - 2);
      cable(topologies::SwitchEnd{one}, topologies::SwitchEnd{between(one + 1, switches - 1)});
    }
    for (int host = 0; host < hosts; ++host) {
      graph.hosts.push_back({"host" + std::to_string(host), {}});
      for (int adapter = 0; adapter < adapters; ++adapter) {
        graph.hosts.back().adapters.push_back("nic" + std::to_string(adapter));
        cable(topologies::AdapterEnd{host, adapter}, topologies::SwitchEnd{between(0, switches - 1)});
      }
    }
    return graph;
  }

  topologies::ClusterSpec cluster() {
    const int chips = 1 << between(0, 2), units = between(2, 6);
    auto unit = test::node(chips, std::max(1, chips >> between(0, 1)));
    if (!likely()) unit.scale_up = topologies::NodeSpec::ScaleUp::full_mesh;
    unit.in_network_reduction = !likely();
    auto spec = on_graph(test::nodes(units, fabric(topologies::Crossbar{}), unit),
                         std::make_shared<topologies::NetworkGraph>(graph(units, unit.nics)));
    spec.fabric.routing = likely() ? topologies::FabricRouting::spray : topologies::FabricRouting::ecmp;
    spec.fabric.seed = position_of(between(1, 99));
    spec.fabric.in_network_reduction = !likely();
    if (likely()) return spec;
    spec.order.kind = topologies::RankOrder::Kind::listed;
    for (topologies::DeviceId device = 0; device < chips * units; ++device) spec.order.devices.push_back(device);
    std::shuffle(spec.order.devices.begin(), spec.order.devices.end(), random_);
    return spec;
  }

 private:
  std::mt19937_64 random_;
};

/// Axes "group" and "others": the whole cluster, or groups along the nodes or along the chips of each node.
std::vector<topologies::MeshAxis> axes_of(const topologies::Cluster& cluster, const std::string& along) {
  topologies::MeshAxis group{"group", {}}, others{"others", {}};
  for (const topologies::AxisId id : cluster.axes().ids()) {
    const auto& axis = cluster.axes()[id];
    const bool of_group = along == "all" || along == axis.name;
    (of_group ? group : others).factors.push_back({id, axis.size, 1});
  }
  return {group, others};
}

/// The time in which all groups have run the collective.
double simulated(const topologies::Cluster& cluster, const collectives::Communicator& communicator,
                 const collectives::CollectiveChoice& choice) {
  program::Program program;
  program.streams = {"compute", "group"};
  program.stage_of_rank.assign(position_of(cluster.devices()), 0);
  program.slowdown_of_rank.assign(position_of(cluster.devices()), 1.0);
  for (topologies::LinkId link = 0; link < cluster.links(); ++link)
    program.links.push_back(cluster.link(link).bandwidth);
  program.communicators = {communicator};
  program::ProgramOp op;
  op.kind = program::ProgramOp::Kind::collective;
  op.streams = {1};
  op.communicator = 0;
  op.phases = choice.phases;
  program.ops.push_back(std::move(op));
  spdlog::logger log("quiet");
  return engine::run(program, {engine::EngineKind::max_min, {}, false}, log).timeline.makespan().value();
}

std::vector<std::vector<topologies::DeviceId>> devices_of(const collectives::Communicator& communicator,
                                                          const topologies::Mesh& mesh) {
  std::vector<std::vector<topologies::DeviceId>> groups;
  for (const auto& group : communicator.groups) {
    groups.emplace_back();
    for (const auto rank : group.members) groups.back().push_back(mesh.device_of(rank));
  }
  return groups;
}

TEST(MinCutBound, IsNeverAboveASimulatedTime) {
  constexpr int graphs = 1000;
  constexpr Bytes size(1 << 30);
  int compared = 0, tight = 0;
  for (int seed = 1; seed <= graphs; ++seed) {
    const auto spec = Drawing(position_of(seed)).cluster();
    if (!why_not_a_cluster(spec).empty()) continue;
    const topologies::Cluster cluster = build_cluster(spec);
    for (const char* along : {"all", "node", "gpu"}) {
      const topologies::Mesh mesh(cluster, axes_of(cluster, along), "");
      const collectives::GroupNetwork network(cluster, mesh, {"group"});
      if (network.structure().members == 1) continue;
      for (const auto kind : workloads::all_collective_kinds) {
        for (const auto& choice : network.choices(kind, size)) {
          const auto& communicator = network.communicator(*choice.algorithm);
          const auto bound = collectives::collective_bound(kind, cluster, devices_of(communicator, mesh));
          ASSERT_TRUE(bound.has_value());
          const double time = simulated(cluster, communicator, choice), least = bound->time(size).value();
          EXPECT_GE(time, least * (1 - 1e-9)) << "graph " << seed << ", " << name(kind) << " along " << along << ", "
                                              << choice.label << ", " << bound->links;
          ++compared;
          tight += time < 1.1 * least ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(compared, 10 * graphs);
  EXPECT_GT(tight, compared / 20);  // a bound that is never near says nothing
}

}  // namespace
}  // namespace lockstep::test
