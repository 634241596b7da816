#pragma once
/// Networks as graphs with whole capacities, for designs of collectives.
#include <vector>

#include "sim/collectives/design/link_graph.hpp"

namespace lockstep::test {

inline void join(collectives::design::LinkGraph& graph, int one, int other, std::int64_t capacity) {
  graph.add(one, other, capacity);
  graph.add(other, one, capacity);
}

/// Links of capacity 1 between neighbours; a closed axis of 2 has two links.
inline collectives::design::LinkGraph grid_graph(const std::vector<int>& shape, bool closed) {
  int chips = 1;
  for (const int size : shape) chips *= size;
  collectives::design::LinkGraph graph{chips, chips, {}};
  for (int chip = 0; chip < chips; ++chip) {
    int stride = 1;
    for (const int size : shape) {
      const int here = chip / stride % size;
      if (closed || here + 1 < size) join(graph, chip, chip + ((here + 1) % size - here) * stride, 1);
      stride *= size;
    }
  }
  return graph;
}

inline collectives::design::LinkGraph torus_graph(const std::vector<int>& shape) { return grid_graph(shape, true); }
inline collectives::design::LinkGraph open_torus_graph(const std::vector<int>& shape) {
  return grid_graph(shape, false);
}

/// Nodes of 8 with a port of 9 into a switch and a NIC of 1; NIC i of each node is on leaf i.
inline collectives::design::LinkGraph rails_graph(int nodes) {
  collectives::design::LinkGraph graph{8 * nodes, 8 * nodes, {}};
  const int first_leaf = graph.nodes;
  graph.nodes += 8;
  for (int node = 0; node < nodes; ++node) {
    const int inner = graph.nodes++;
    for (int gpu = 0; gpu < 8; ++gpu) {
      const int nic = graph.nodes++;
      join(graph, 8 * node + gpu, inner, 9);
      join(graph, 8 * node + gpu, nic, 1);
      join(graph, nic, first_leaf + gpu, 1);
    }
  }
  return graph;
}

/// Leaves of `below` members with ports of 2, each with links of `up` to 2 spines.
inline collectives::design::LinkGraph tree_graph(int leaves, int below, int up) {
  collectives::design::LinkGraph graph{leaves * below, leaves * below + leaves + 2, {}};
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const int node = leaves * below + leaf;
    for (int i = 0; i < below; ++i) join(graph, leaf * below + i, node, 2);
    for (const int spine : {0, 1}) join(graph, node, leaves * below + leaves + spine, up);
  }
  return graph;
}

/// Servers of 16 MI250 dies joined by 1, 2 or 4 links of 50, each with 16 to one switch: topologies.py of
/// liangyuRain/ForestColl@3c13aee, for arXiv 2402.06787.
inline collectives::design::LinkGraph mi250_graph(int servers) {
  struct Links {
    int one, other, count;
  };
  static const std::vector<Links> links = {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},
                                           {2, 3, 4},   {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},
                                           {4, 5, 4},   {4, 6, 1},   {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},
                                           {8, 12, 2},  {9, 13, 1},  {10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4},
                                           {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}};
  collectives::design::LinkGraph graph{16 * servers, 16 * servers + (servers > 1 ? 1 : 0), {}};
  for (int server = 0; server < servers; ++server) {
    for (const auto& [one, other, count] : links) join(graph, 16 * server + one, 16 * server + other, 50 * count);
    for (int die = 0; die < 16 && servers > 1; ++die) join(graph, 16 * server + die, 16 * servers, 16);
  }
  return graph;
}

/// The eight GPUs of a DGX-1, whose 24 NVLinks make a hybrid cube mesh: NVIDIA, "NVIDIA DGX-1 With Tesla V100 System
/// Architecture", WP-08437. A link that is broken joins `broken` and `with`.
inline collectives::design::LinkGraph dgx1_graph(int broken = -1, int with = -1) {
  struct Links {
    int one, other, count;
  };
  static const std::vector<Links> links = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                                           {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                                           {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
  collectives::design::LinkGraph graph{8, 8, {}};
  for (const auto& [one, other, count] : links)
    join(graph, one, other, count - (one == broken && other == with ? 1 : 0));
  return graph;
}

}  // namespace lockstep::test
