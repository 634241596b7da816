#pragma once
/// A job on the network of tests/data/networks/two_leaves.csv: hosts gpu1 and gpu2 on leaf1, gpu3 and gpu4 on leaf2, a
/// cable from each leaf to each of two spines. Each host has one chip, and gradients are reduced over all four.
#include <memory>
#include <string>
#include <variant>

#include "tests/source_dir.hpp"
#include "tests/unit/scenario/small_scenario.hpp"
#include "topologies/graph/network_graph.hpp"

namespace lockstep::test {

/// `routing`: spray or ecmp.
inline scenario::Scenario on_two_leaves(const std::string& routing = "spray") {
  const std::string file = std::string(source_dir) + "/tests/data/networks/two_leaves.csv";
  return small_scenario(
      {{"model", "{type: two-matmul, layers: 2, d_model: 4096, d_ff: 8192}"},
       {"cluster",
        "{graph: '" + file +
            "', node: {like: dgx-h100, chips: 1}, fabric: {like: infiniband-ndr-fat-tree, routing: " + routing + "}}"},
       {"parallel", "{}"},
       {"mesh", "{data: rest}"}});
}

template <class End>
scenario::Scenario with_cables_from(scenario::Scenario scenario, double part) {
  auto& given = std::get<topologies::GivenNetwork>(scenario.cluster.fabric.kind);
  auto graph = std::make_shared<topologies::NetworkGraph>(*given.graph);
  for (auto& cable : graph->cables) {
    if (std::holds_alternative<End>(cable.from)) cable.rate = *cable.rate * part;
  }
  given.graph = std::move(graph);
  return scenario;
}

/// The same with so much of the rate of the cables between switches.
inline scenario::Scenario with_uplinks(scenario::Scenario scenario, double part) {
  return with_cables_from<topologies::SwitchEnd>(std::move(scenario), part);
}

/// The same with so much of the rate of the cables from hosts to leaves.
inline scenario::Scenario with_cables_of_hosts(scenario::Scenario scenario, double part) {
  return with_cables_from<topologies::AdapterEnd>(std::move(scenario), part);
}

}  // namespace lockstep::test
