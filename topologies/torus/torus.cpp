#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/quantity_text.hpp"
#include "topologies/cluster/twisted_torus.hpp"
#include "topologies/torus/torus.hpp"
#include "topologies/torus/torus_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr Seconds most_latency(1);
constexpr std::int64_t most_chips = 1'000'000;  // refused before memory is spent on them
constexpr Seconds dcn_latency(10e-6);

/// Steps to the next position of a grid, last axis fastest; false after the last.
bool advance(std::vector<int>& position, const std::vector<int>& sizes) {
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (++position[axis] < sizes[axis]) return true;
    position[axis] = 0;
  }
  return false;
}

/// Chips of a host along each axis, and hosts.
std::vector<int> host_block(const TorusSpec& spec) {
  std::vector<int> block = spec.chip.torus->host;
  block.resize(spec.shape.size(), 1);
  return block;
}
std::vector<int> host_grid(const TorusSpec& spec) {
  std::vector<int> grid = host_block(spec);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = (spec.shape[i] - 1) / grid[i] + 1;
  return grid;
}

/// Adds a node for every position of a grid.
std::vector<NodeId> add_grid(Cluster::Graph& graph, NodeKind kind, std::string_view what,
                             const std::vector<int>& prefix, const std::vector<int>& sizes) {
  std::vector<NodeId> nodes;
  std::vector<int> position(sizes.size(), 0), place;
  do {
    place = prefix;
    place.insert(place.end(), position.begin(), position.end());
    nodes.push_back(graph.add_node(kind, place_name(what, place)));
  } while (advance(position, sizes));
  return nodes;
}

}  // namespace

std::string place_name(std::string_view what, const std::vector<int>& coordinates) {
  std::string text(what);
  char before = '(';
  for (const int coordinate : coordinates) {
    std::array<char, 12> digits{};
    text += std::exchange(before, ',');
    text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), coordinate).ptr);
  }
  text += ')';
  return text;
}

LinkId add_both_ways(Cluster::Graph& graph, NodeId a, NodeId b, LinkKind kind, BytesPerSecond rate, Seconds latency) {
  const LinkId there = graph.add_link({a, b, kind, rate, latency});
  graph.add_link({b, a, kind, rate, latency});
  return there;
}

std::vector<PhysicalAxis> torus_axes(const TorusSpec& spec) {
  const TorusFabric& torus = *spec.chip.torus;
  std::vector<PhysicalAxis> axes;
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    const int size = spec.shape[i];
    axes.push_back({std::string(1, "xyz"[i]), size, torus.wrap.wraps(size), torus.link_of(i), torus.hop_latency});
    if (spec.twisted) axes.back().twist = twists_of(spec.shape)[i];
  }
  return axes;
}

void add_torus_chips(const TorusSpec& spec, const std::vector<int>& prefix, Cluster::Graph& graph) {
  add_grid(graph, NodeKind::device, "chip", prefix, spec.shape);
}

void add_ici(const std::vector<PhysicalAxis>& torus, int first_axis, DeviceId first, Cluster::Graph& graph) {
  int devices = 1;
  for (const PhysicalAxis& axis : torus) devices *= axis.size;
  std::vector<int> strides(torus.size(), 1);
  for (std::size_t i = torus.size(); i-- > 1;) strides[i - 1] = strides[i] * torus[i].size;
  /// Where the link that closes an axis leads on along the others.
  const auto twisted = [&](DeviceId device, const PhysicalAxis& axis, int direction) {
    DeviceId moved = device;
    for (std::size_t i = 0; i < axis.twist.size(); ++i) {
      const int size = torus[i].size, at = device / strides[i] % size;
      moved += ((at + direction * axis.twist[i] + size) % size - at) * strides[i];
    }
    return moved;
  };
  for (DeviceId device = 0; device < devices; ++device) {
    for (std::size_t i = 0; i < torus.size(); ++i) {
      const PhysicalAxis& axis = torus[i];
      const int stride = strides[i];
      const int here = device / stride % axis.size;
      for (const int direction : {1, -1}) {
        const int next = here + direction;
        if (axis.size == 1 || (!axis.wraps && (next < 0 || next == axis.size))) continue;
        const DeviceId from = first + device;
        const bool closes = next < 0 || next == axis.size;
        const DeviceId to = first + (closes ? twisted(device, axis, direction) : device) +
                            ((next + axis.size) % axis.size - here) * stride;
        graph.add_link(
            {from, to, LinkKind::ici, axis.link, axis.hop_latency, first_axis + static_cast<int>(i), direction});
      }
    }
  }
}

std::vector<int> hosts_of_chips(const TorusSpec& spec) {
  const std::vector<int> block = host_block(spec);
  const std::vector<int> grid = host_grid(spec);
  std::vector<int> hosts;
  std::vector<int> position(spec.shape.size(), 0);
  do {
    int host = 0;
    for (std::size_t i = 0; i < grid.size(); ++i) host = host * grid[i] + position[i] / block[i];
    hosts.push_back(host);
  } while (advance(position, spec.shape));
  return hosts;
}

std::vector<NodeId> add_hosts(const TorusSpec& spec, const std::vector<int>& prefix, DeviceId first,
                              BytesPerSecond pcie, Cluster::Graph& graph) {
  std::vector<NodeId> hosts = add_grid(graph, NodeKind::host, "host", prefix, host_grid(spec));
  DeviceId device = first;
  for (const int host : hosts_of_chips(spec)) {
    add_both_ways(graph, device++, hosts[position_of(host)], LinkKind::pcie, pcie, spec.chip.torus->hop_latency);
  }
  return hosts;
}

std::string slice_text(const TorusSpec& spec) { return by_axis(spec.shape) + (spec.twisted ? " twisted" : ""); }

std::string why_not_a_slice(const TorusSpec& spec) {
  if (!spec.chip.torus) return spec.chip.name + " has no torus";
  if (spec.chip.torus->hop_latency > most_latency) return "its hop_latency is longer than " + format(most_latency);
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
  // It fits in some order of the axes exactly if it fits with both sorted. Axes of different links keep their order.
  const bool any_order = spec.chip.torus->axis_links.empty();
  if (!any_order && pod.size() > spec.chip.torus->axis_links.size())
    return "a pod of " + std::to_string(pod.size()) + " axes; the rates of links are known of " +
           std::to_string(spec.chip.torus->axis_links.size());
  shape.resize(pod.size(), 1);
  std::vector<int> largest = pod;
  if (any_order) {
    std::sort(shape.begin(), shape.end());
    std::sort(largest.begin(), largest.end());
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] <= largest[i]) continue;
    return sizes + " does not fit the pod of " + by_axis(pod) +
           (any_order ? " in any order of the axes" : ", whose axes have links of different rates");
  }
  if (!spec.twisted) return "";
  if (!any_order) return sizes + " cannot be twisted, since its axes have links of different rates";
  if (twists_of(spec.shape).empty())
    return sizes + " cannot be twisted; only n x n x 2n and n x 2n x 2n can, in any order of the axes";
  for (const int size : spec.shape) {
    if (!spec.chip.torus->wrap.wraps(size))
      return sizes + " cannot be twisted, since its axis of " + std::to_string(size) + " does not close";
  }
  return "";
}

Cluster build_torus(const TorusSpec& spec) {
  if (const std::string why = why_not_a_slice(spec); !why.empty()) throw InternalError("not a slice: " + why);
  std::vector<PhysicalAxis> axes = torus_axes(spec);
  int devices = 1;
  for (const int size : spec.shape) devices *= size;

  auto graph = std::make_unique<Cluster::Graph>(devices, static_cast<int>(axes.size()));
  add_torus_chips(spec, {}, *graph);
  add_ici(axes, 0, 0, *graph);
  if (spec.chip.pcie) {
    const std::vector<NodeId> hosts = add_hosts(spec, {}, 0, *spec.chip.pcie, *graph);
    if (spec.chip.dcn_per_host) {
      const NodeId dcn = graph->add_node(NodeKind::network_switch, "dcn");
      for (const NodeId host : hosts) {
        add_both_ways(*graph, host, dcn, LinkKind::dcn, *spec.chip.dcn_per_host, dcn_latency);
      }
    }
  }
  return {spec.chip.name + ' ' + slice_text(spec), spec.chip, std::move(axes), std::move(graph)};
}

}  // namespace lockstep::topologies
