// The design of sim/collectives/design as an algorithm among the others: every tree carries its part of the data in
// pieces that follow each other. All trees are one macro flow, since they are made to keep all links busy that bound
// them; those of both passes of an all-reduce too, whose pieces go down while others go up.
#include "sim/collectives/designed.hpp"

#include <algorithm>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/design/bottleneck_cut.hpp"
#include "sim/collectives/design/move_order.hpp"
#include "sim/collectives/design/simple_graph.hpp"
#include "sim/collectives/group_structure_private.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives {
namespace {

using topologies::DeviceId;
using Groups = std::vector<std::vector<DeviceId>>;
using workloads::CollectiveKind;

/// Of the group that has the lowest rate.
design::GroupLinks links_of_slowest(const topologies::Cluster& cluster, const Groups& groups,
                                    const design::LinkRate& rate) {
  const auto kinds = design::links_of_groups(cluster, groups, rate);
  const design::GroupLinks* slowest = nullptr;
  double least = 0;
  for (const auto& kind : kinds) {
    const auto cut = design::bottleneck_cut(design::simplified(kind.graph).graph);
    if (cut.capacity == 0) {
      throw topologies::NoRoute("no links lead from every chip of the group of " +
                                cluster.node(groups[kind.group].front()).name + " to every other");
    }
    const double own = static_cast<double>(cut.capacity) * static_cast<double>(kind.unit) / cut.roots;
    if (slowest != nullptr && own >= least) continue;
    slowest = &kind;
    least = own;
  }
  return *slowest;
}

class DesignedForGroups final : public CollectiveAlgorithm {
 public:
  DesignedForGroups(const topologies::Cluster& cluster, const Groups& groups) {
    const auto rate = [&](topologies::LinkId link) { return cluster.link(link).bandwidth; };
    one_pass_ = designs_on_groups(CollectiveKind::all_gather, cluster, groups, rate);
    both_passes_ = designs_on_groups(CollectiveKind::all_reduce, cluster, groups, rate);
  }

  std::string_view name() const override { return designed_name; }
  bool serves(CollectiveKind kind, const topologies::Cluster& /*cluster*/,
              const GroupStructure& /*groups*/) const override {
    return is_designed(kind);
  }
  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& /*groups*/) const override {
    return slot(both_passes_.size(), TreesOnGroups::both);
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& /*groups*/) const override {
    const auto members = in_order_of_ranks(cluster, group.members);
    std::vector<Flow> flows;
    for (const auto pass : {TreesOnGroups::down, TreesOnGroups::up, TreesOnGroups::both}) {
      const auto& designs = designs_for(pass);
      for (std::size_t design = 0; design < designs.size(); ++design)
        flows.push_back({slot(design, pass), designs[design].links_of(cluster, members, pass)});
    }
    std::sort(flows.begin(), flows.end(), [](const Flow& left, const Flow& right) { return left.slot < right.slot; });
    return flows;
  }

  std::vector<Phase> plan(CollectiveKind kind, Bytes full_size, const topologies::Cluster& cluster,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    const auto pass = pass_of(kind);
    const auto& designs = designs_for(pass);
    const auto design = fastest(designs, pass, full_size, protocol, groups.step_slowdown);
    const auto pieces = designs[design].pieces(pass, full_size, protocol, groups.step_slowdown);
    Phase phase{protocol.launch + pieces.latencies + pieces.filling,
                Indexed<SlotId, double>(slots(cluster, groups), 0)};
    phase.slot_bytes[slot(design, pass)] = designs[design].bytes_of_tree(pass, full_size, protocol);
    return {std::move(phase)};
  }

 private:
  [[nodiscard]] const std::vector<TreesOnGroups>& designs_for(TreesOnGroups::Pass pass) const {
    return pass == TreesOnGroups::both ? both_passes_ : one_pass_;
  }
  /// Those of one pass first, two of each design.
  [[nodiscard]] SlotId slot(std::size_t design, TreesOnGroups::Pass pass) const {
    return pass == TreesOnGroups::both ? static_cast<SlotId>(2 * one_pass_.size() + design)
                                       : static_cast<SlotId>(2 * design) + pass;
  }

  std::vector<TreesOnGroups> one_pass_, both_passes_;
};

class Designed final : public MadeForGroups {
 public:
  std::string_view name() const override { return designed_name; }

  bool serves(CollectiveKind kind, const topologies::Cluster& cluster, const GroupStructure& groups) const override {
    return is_designed(kind) && groups.members > 1 && !design::why_not_designed(groups.members, cluster.links());
  }
  std::shared_ptr<const CollectiveAlgorithm> made_for(const topologies::Cluster& cluster,
                                                      const Groups& groups) const override {
    return std::make_shared<DesignedForGroups>(cluster, groups);
  }

  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& /*groups*/) const override {
    throw not_made();
  }
  std::vector<Flow> flows(const topologies::Cluster& /*cluster*/, const NetworkGroup& /*group*/,
                          const GroupStructure& /*groups*/) const override {
    throw not_made();
  }
  std::vector<Phase> plan(CollectiveKind /*kind*/, Bytes /*full_size*/, const topologies::Cluster& /*cluster*/,
                          const GroupStructure& /*groups*/, const topologies::Protocol& /*protocol*/) const override {
    throw not_made();
  }

 private:
  static InternalError not_made() { return InternalError("a designed collective is asked for without its groups"); }
};

}  // namespace

std::vector<DeviceId> in_order_of_ranks(const topologies::Cluster& cluster, std::vector<DeviceId> members) {
  const auto places = places_in_order(cluster, UnitOrder::ranks);
  std::sort(members.begin(), members.end(),
            [&](DeviceId left, DeviceId right) { return places[left] < places[right]; });
  return members;
}

bool is_designed(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::all_reduce;
}

TreesOnGroups::Pass pass_of(CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return TreesOnGroups::both;
  return kind == CollectiveKind::reduce_scatter ? TreesOnGroups::up : TreesOnGroups::down;
}

std::vector<TreesOnGroups> designs_on_groups(CollectiveKind kind, const topologies::Cluster& cluster, Groups groups,
                                             const design::LinkRate& rate) {
  for (auto& group : groups) group = in_order_of_ranks(cluster, std::move(group));
  const auto links = links_of_slowest(cluster, groups, rate);
  std::vector<TreesOnGroups> designs;
  for (auto& design :
       pass_of(kind) == TreesOnGroups::both ? design::all_reduce_designs_for(links) : design::designs_for(links))
    designs.emplace_back(cluster, groups, rate, std::move(design));
  return designs;
}

std::size_t fastest(const std::vector<TreesOnGroups>& designs, TreesOnGroups::Pass pass, Bytes full_size,
                    const topologies::Protocol& protocol, double step_slowdown) {
  const auto best = std::min_element(designs.begin(), designs.end(), [&](const auto& left, const auto& right) {
    return left.time(pass, full_size, protocol, step_slowdown) < right.time(pass, full_size, protocol, step_slowdown);
  });
  return static_cast<std::size_t>(best - designs.begin());
}

TreesOnGroups::TreesOnGroups(const topologies::Cluster& cluster, const Groups& groups, const design::LinkRate& rate,
                             design::Design design)
    : design_(std::move(design)), use_{design_.gather.use(), design_.reduce.use(), design_.use_both_ways()} {
  for (const auto pass : {down, up, both}) {
    Indexed<topologies::LinkId, double> crossings(cluster.links(), 0);
    for (const auto& group : groups) {
      for (const auto link : links_of(cluster, group, pass)) ++crossings[link];
      find_step(cluster, group, pass);
    }
    auto& busiest = busiest_[position_of(pass)];
    for (const auto link : crossings.ids()) {
      if (crossings[link] > 0) busiest = std::max(busiest, crossings[link] / rate(link).value());
    }
    busiest /= cluster.flows_of_connection();
  }
}

Seconds TreesOnGroups::time(Pass pass, Bytes full_size, const topologies::Protocol& protocol,
                            double step_slowdown) const {
  const auto own = pieces(pass, full_size, protocol, step_slowdown);
  return own.latencies + own.filling + Seconds(busiest(pass) * bytes_of_tree(pass, full_size, protocol));
}

template <class Visit>
void TreesOnGroups::visit_arcs(const std::vector<DeviceId>& members, Pass pass, Visit visit) const {
  for (const auto way : {up, down}) {
    if (pass != both && pass != way) continue;
    for (const auto& tree : trees(way).trees) {
      for (const auto& arc : tree.arcs) {
        auto from = members[position_of(arc.from)], to = members[position_of(arc.to)];
        if (way == up) std::swap(from, to);
        visit(from, to, tree.copies);
      }
    }
  }
}

std::vector<topologies::LinkId> TreesOnGroups::links_of(const topologies::Cluster& cluster,
                                                        const std::vector<DeviceId>& members, Pass pass) const {
  std::vector<topologies::LinkId> links;
  visit_arcs(members, pass, [&](DeviceId from, DeviceId to, int copies) {
    for (int copy = 0; copy < copies; ++copy) network::append_route(cluster, from, to, links);
  });
  return links;
}

void TreesOnGroups::find_step(const topologies::Cluster& cluster, const std::vector<DeviceId>& members, Pass pass) {
  auto& step = step_[position_of(pass)];
  visit_arcs(members, pass, [&](DeviceId from, DeviceId to, int /*copies*/) {
    const bool is_remote = cluster.unit_of(from) != cluster.unit_of(to);
    auto& longest = is_remote ? step.remote : step.local;
    longest = std::max(longest, network::route_latency(cluster, from, to));
    (is_remote ? step.has_remote : step.has_local) = true;
  });
}

double TreesOnGroups::bytes_of_tree(Pass pass, Bytes full_size, const topologies::Protocol& protocol) const {
  return network::carried(full_size, protocol) / trees(pass).count();
}

design::Pieces TreesOnGroups::pieces(Pass pass, Bytes full_size, const topologies::Protocol& protocol,
                                     double step_slowdown) const {
  return pieces_of(pass, use(pass), use(pass).trees_of_channel(), full_size, protocol, step_slowdown);
}

design::Pieces TreesOnGroups::pieces_in_order(Pass pass, Bytes full_size, const topologies::Protocol& protocol,
                                              double step_slowdown) const {
  const auto strands = std::ssize(design::strands_of(design_, pass != down, pass != up));
  auto own = use(pass);
  own.arcs = strands * (trees(pass).members - 1) * (pass == both ? 2 : 1);
  return pieces_of(pass, own, own.most_on_an_arc, full_size, protocol, step_slowdown);
}

design::Pieces TreesOnGroups::pieces_of(Pass pass, const design::TreeUse& use, int of_channel, Bytes full_size,
                                        const topologies::Protocol& protocol, double step_slowdown) const {
  const auto& step = step_[position_of(pass)];
  Seconds latency(0);
  if (step.has_local) latency = step.local + protocol.local_step;
  if (step.has_remote) latency = std::max(latency, step_slowdown * (step.remote + protocol.remote_step));
  const auto chunks = std::int64_t{trees(pass).members} * trees(pass).count();
  return design::pieces_of(use, of_channel, chunks, latency,
                           Seconds(busiest(pass) * bytes_of_tree(pass, full_size, protocol)));
}

namespace network {

const CollectiveAlgorithm& designed() {
  static const Designed algorithm;
  return algorithm;
}

}  // namespace network
}  // namespace lockstep::collectives
