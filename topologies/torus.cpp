#include <algorithm>
#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/cluster_graph_private.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t most_chips = 1'000'000;  // refused before memory is spent on them
constexpr Seconds pcie_latency(1e-6);
constexpr Seconds dcn_latency(10e-6);

std::string place_name(std::string_view what, const std::vector<int>& coordinates) {
  std::string text(what);
  for (std::size_t i = 0; i < coordinates.size(); ++i) text += (i == 0 ? '(' : ',') + std::to_string(coordinates[i]);
  return text + ')';
}

/// Steps to the next position of a grid, last axis fastest; false after the last.
bool advance(std::vector<int>& position, const std::vector<int>& sizes) {
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (++position[axis] < sizes[axis]) return true;
    position[axis] = 0;
  }
  return false;
}

std::vector<PhysicalAxis> axes_of(const TorusSpec& spec) {
  const TorusFabric& torus = *spec.chip.torus;
  std::vector<PhysicalAxis> axes;
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    const int size = spec.shape[i];
    axes.push_back({std::string(1, "xyz"[i]), size, torus.wrap.wraps(size), torus.link, torus.hop_latency});
  }
  return axes;
}

void add_ici(const std::vector<PhysicalAxis>& axes, int devices, Cluster::Graph& graph) {
  for (DeviceId device = 0; device < devices; ++device) {
    int stride = devices;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const PhysicalAxis& axis = axes[i];
      stride /= axis.size;
      const int here = device / stride % axis.size;
      for (const int direction : {1, -1}) {
        const int next = here + direction;
        if (axis.size == 1 || (!axis.wraps && (next < 0 || next == axis.size))) continue;
        const DeviceId to = device + ((next + axis.size) % axis.size - here) * stride;
        graph.add_link({device, to, LinkKind::ici, axis.link, axis.hop_latency, static_cast<int>(i), direction});
      }
    }
  }
}

void add_both_ways(Cluster::Graph& graph, NodeId a, NodeId b, LinkKind kind, BytesPerSecond rate, Seconds latency) {
  graph.add_link({a, b, kind, rate, latency});
  graph.add_link({b, a, kind, rate, latency});
}

/// The host blocks that cover the slice, the last ones clipped; the chips' links to them.
std::vector<NodeId> add_hosts(const TorusSpec& spec, BytesPerSecond pcie, Cluster::Graph& graph) {
  const std::size_t axes = spec.shape.size();
  std::vector<int> block = spec.chip.torus->host;
  block.resize(axes, 1);
  std::vector<int> grid(axes);
  for (std::size_t i = 0; i < axes; ++i) grid[i] = (spec.shape[i] - 1) / block[i] + 1;

  std::vector<NodeId> hosts;
  std::vector<int> position(axes, 0);
  do hosts.push_back(graph.add_node(NodeKind::host, place_name("host", position)));
  while (advance(position, grid));

  DeviceId device = 0;
  do {
    std::size_t host = 0;
    for (std::size_t i = 0; i < axes; ++i) {
      host = host * static_cast<std::size_t>(grid[i]) + static_cast<std::size_t>(position[i] / block[i]);
    }
    add_both_ways(graph, device++, hosts[host], LinkKind::pcie, pcie, pcie_latency);
  } while (advance(position, spec.shape));
  return hosts;
}

}  // namespace

std::string why_not_a_slice(const TorusSpec& spec) {
  if (!spec.chip.torus) return spec.chip.name + " has no torus";
  std::vector<int> pod = spec.pod.empty() ? spec.chip.torus->pod : spec.pod;
  std::vector<int> shape = spec.shape;
  const std::string sizes = by_axis(shape);
  if (pod.size() > 3) return "a pod of " + std::to_string(pod.size()) + " axes; a torus has one to three";
  if (shape.empty()) return "a slice without axes";
  if (shape.size() > pod.size()) {
    return "a slice of " + std::to_string(shape.size()) + " axes does not fit a pod of " + std::to_string(pod.size());
  }
  std::int64_t chips = 1;
  for (const int size : shape) {
    if (size < 1) return sizes + " has an axis of " + std::to_string(size) + "; sizes count from 1";
    chips *= size;
    if (chips > most_chips) return sizes + " has more than " + std::to_string(most_chips) + " chips";
  }
  // It fits in some order of the axes exactly if it fits with both sorted.
  shape.resize(pod.size(), 1);
  std::vector<int> largest = pod;
  std::sort(shape.begin(), shape.end());
  std::sort(largest.begin(), largest.end());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > largest[i]) return sizes + " does not fit the pod of " + by_axis(pod) + " in any order of the axes";
  }
  return "";
}

Cluster build_torus(const TorusSpec& spec) {
  if (const std::string why = why_not_a_slice(spec); !why.empty()) throw InternalError("not a slice: " + why);
  std::vector<PhysicalAxis> axes = axes_of(spec);
  int devices = 1;
  for (const int size : spec.shape) devices *= size;

  auto graph = std::make_unique<Cluster::Graph>(devices, static_cast<int>(axes.size()));
  std::vector<int> position(axes.size(), 0);
  do graph->add_node(NodeKind::device, place_name("chip", position));
  while (advance(position, spec.shape));

  add_ici(axes, devices, *graph);
  if (spec.chip.pcie) {
    const std::vector<NodeId> hosts = add_hosts(spec, *spec.chip.pcie, *graph);
    if (spec.chip.dcn_per_host) {
      const NodeId dcn = graph->add_node(NodeKind::network_switch, "dcn");
      for (const NodeId host : hosts) {
        add_both_ways(*graph, host, dcn, LinkKind::dcn, *spec.chip.dcn_per_host, dcn_latency);
      }
    }
  }
  return {spec.chip.name + ' ' + by_axis(spec.shape), spec.chip, std::move(axes), std::move(graph)};
}

}  // namespace lockstep
