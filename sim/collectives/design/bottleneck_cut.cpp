// Newton's method on cuts (Dinkelbach): with p/q, the rate of the best cut so far, as every member's own supply, a flow
// of all supplies must reach each member. Where it does not, the least cut has a lower rate and takes its place.
#include "sim/collectives/design/bottleneck_cut.hpp"

#include "topologies/cluster/flow_network.hpp"

namespace lockstep::collectives::design {
namespace {

class Search {
 public:
  explicit Search(const LinkGraph& graph) : graph_(graph), flows_(graph.nodes + 1) {
    for (const auto& [ends, capacity] : graph.arcs) flows_.add_arc(ends.first, ends.second, 0);
    for (int member = 0; member < graph.members; ++member) flows_.add_arc(graph.nodes, member, 0);
    for (int member = 0; member < graph.members; ++member) {
      std::vector<bool> alone(static_cast<std::size_t>(graph.nodes), false);
      alone[static_cast<std::size_t>(member)] = true;
      auto cut = measured(std::move(alone));
      if (best_.inside.empty() || is_lower(cut, best_)) best_ = std::move(cut);
    }
  }

  BottleneckCut find() {
    set_capacities();
    for (int member = 0; member < graph_.members && best_.capacity > 0;) {
      if (flows_.max_flow(graph_.nodes, member) >= std::int64_t{graph_.members} * best_.capacity) {
        ++member;
        continue;
      }
      std::vector<bool> inside(static_cast<std::size_t>(graph_.nodes));
      for (int node = 0; node < graph_.nodes; ++node)
        inside[static_cast<std::size_t>(node)] = !flows_.on_source_side(node);
      best_ = measured(std::move(inside));
      set_capacities();
    }
    return std::move(best_);
  }

 private:
  [[nodiscard]] BottleneckCut measured(std::vector<bool> inside) const {
    BottleneckCut cut{0, 0, std::move(inside)};
    for (const auto& [ends, capacity] : graph_.arcs) {
      if (!cut.inside[static_cast<std::size_t>(ends.first)] && cut.inside[static_cast<std::size_t>(ends.second)])
        cut.capacity += capacity;
    }
    for (int member = 0; member < graph_.members; ++member)
      cut.roots += cut.inside[static_cast<std::size_t>(member)] ? 0 : 1;
    return cut;
  }
  static bool is_lower(const BottleneckCut& left, const BottleneckCut& right) {
    return left.capacity * right.roots < right.capacity * left.roots;
  }

  void set_capacities() {
    topologies::FlowNetwork::ArcId arc = 0;
    for (const auto& [ends, capacity] : graph_.arcs) flows_.set_capacity(arc++, capacity * best_.roots);
    for (int member = 0; member < graph_.members; ++member) flows_.set_capacity(arc++, best_.capacity);
  }

  const LinkGraph& graph_;
  topologies::FlowNetwork flows_;
  BottleneckCut best_;
};

}  // namespace

BottleneckCut bottleneck_cut(const LinkGraph& graph) { return Search(graph).find(); }

}  // namespace lockstep::collectives::design
