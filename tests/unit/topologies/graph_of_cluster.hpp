#pragma once
/// Built clusters on networks that are written out as their owners' files would describe them.
#include <map>

#include "tests/unit/topologies/small_fabric.hpp"
#include "topologies/fabrics/graph_of_cluster.hpp"

namespace lockstep::test {

using topologies::graph_of;
using topologies::on_graph;

inline topologies::ClusterSpec as_given(const topologies::ClusterSpec& generated) {
  return on_graph(generated, std::make_shared<topologies::NetworkGraph>(graph_of(generated)));
}

}  // namespace lockstep::test
