#pragma once
/// Switches between ends: NICs of nodes, hosts of pods, or the top switches of halls. A network computes its routes by
/// arithmetic on the numbers of ends and links, without a search.
#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "topologies/fabrics/fabric.hpp"
#include "topologies/torus/torus_private.hpp"

namespace lockstep::topologies {

enum class UnitKind { node, pod, hall };

/// The ports of a network, by which it is dimensioned.
struct EndCount {
  int count;
  int per_unit;         ///< ports that a unit takes
  BytesPerSecond rate;  ///< one way, of each port, before the network's efficiency
  UnitKind unit;

  [[nodiscard]] int units() const { return count / per_unit; }
};

/// The ends of a network, unit by unit: NICs, hosts, or the top switches of halls.
struct NetworkEnds {
  std::vector<NodeId> nodes;
  int per_unit;         ///< ports of the network that a unit takes
  BytesPerSecond rate;  ///< one way, of each port, before the network's efficiency
  LinkKind kind;        ///< of the links to the first switches
  UnitKind unit;
  int ports = 1;  ///< of each node, side by side: one for each switch that a sprayed hall's top stands for

  [[nodiscard]] EndCount count() const { return {static_cast<int>(nodes.size()) * ports, per_unit, rate, unit}; }
};

class SwitchNetwork {
 public:
  SwitchNetwork(const FabricSpec& spec, const NetworkEnds& ends);
  virtual ~SwitchNetwork() = default;

  /// Appends the links from one end to another, for the flow of that number between them; false if every way that the
  /// network has for them misses a link.
  virtual bool route(int from, int to, int flow, const MissingLinks& missing, std::vector<LinkId>& links) const = 0;
  /// The number of the rail of an end, if rails have networks of their own: no route leads from one to another.
  [[nodiscard]] virtual int rail_of(int /*end*/) const { return 0; }

  /// The top switches, which have a link to the network above.
  [[nodiscard]] virtual const std::vector<NodeId>& tops() const = 0;
  /// The number of switches that each top switch stands for, if packets are sprayed over them.
  [[nodiscard]] virtual int switches_of_a_top() const { return 1; }
  /// The number of ends between which routes lead: nodes, or their ports one by one.
  [[nodiscard]] int ends() const { return static_cast<int>(number_of_end_.size()); }
  /// The number of the top switch by which an end leaves or is reached, `choice` deciding between equals.
  [[nodiscard]] virtual int top_of(int end, std::uint64_t choice) const = 0;
  virtual void climb(int from, int top, std::vector<LinkId>& links) const = 0;
  virtual void descend(int top, int to, std::vector<LinkId>& links) const = 0;

  /// The number by which two nodes choose among equal paths: the sum of their numbers, or (ecmp) a hash of them and the
  /// seed, another for each flow.
  [[nodiscard]] std::uint64_t choice(NodeId from, NodeId to, int flow) const;

 protected:
  [[nodiscard]] std::uint64_t choice_of_ends(int from, int to, int flow) const {
    return choice(number_of_end_[position_of(from)], number_of_end_[position_of(to)], flow);
  }

 private:
  FabricRouting routing_;
  std::uint64_t seed_;
  std::vector<NodeId> number_of_end_;  ///< of its node; of several ends on one node, consecutive ones
};

/// Every port an end of its own.
[[nodiscard]] NetworkEnds port_by_port(NetworkEnds ends);

/// Whether the links from position `first` on are all there.
[[nodiscard]] bool all_there(const std::vector<LinkId>& links, std::size_t first, const MissingLinks& missing);

/// Appends the one of `ways` equal paths that `choice` picks; if a link of it is missing, the one that `choice` picks
/// among the paths without missing links. So flows whose path is intact keep it, as with resilient hashing.
/// `append(way)` adds the links of a path and may refuse. Returns false if no path is left.
template <class Append>
bool take_way(std::size_t ways, std::uint64_t choice, const MissingLinks& missing, std::vector<LinkId>& links,
              Append append) {
  const std::size_t first = links.size();
  const auto whole = [&](std::size_t way) {
    links.resize(first);
    return append(way) && all_there(links, first, missing);
  };
  if (whole(choice % ways)) return true;
  std::vector<std::size_t> left;
  for (std::size_t way = 0; way < ways; ++way) {
    if (whole(way)) left.push_back(way);
  }
  if (!left.empty()) return whole(left[choice % left.size()]);
  links.resize(first);
  return false;
}

/// The achieved one-way rate of a link between two switches.
[[nodiscard]] BytesPerSecond switch_link(const FabricSpec& spec, BytesPerSecond end_rate);
/// Joins every end to its first switch, by number. Returns the first link's id; end e has the links first + 2e (up) and
/// first + 2e + 1 (down).
LinkId add_end_links(const FabricSpec& spec, const NetworkEnds& ends, const std::vector<NodeId>& first_switch,
                     Cluster::Graph& graph);

/// Adds the switches and links of a network of any kind.
[[nodiscard]] std::unique_ptr<const SwitchNetwork> build_network(const FabricSpec& spec, const NetworkEnds& ends,
                                                                 const std::vector<int>& prefix, Cluster::Graph& graph);

/// "leaf(2,5)": a switch of this network.
[[nodiscard]] std::string switch_name(std::string_view what, std::vector<int> prefix, const std::vector<int>& numbers);

}  // namespace lockstep::topologies
