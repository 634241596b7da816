// Edmonds' branchings with capacities (Berczi and Frank 2010; Schrijver, Combinatorial Optimization, 53.9). Trees grow
// arc by arc. An arc may be taken by as many copies of a tree as leave every set of members enough arcs for the trees
// that have yet to reach it, which one flow tells: in the least cut with the arc's tail outside and its head inside,
// the arcs that are left and the unfinished trees with a member inside, less all unfinished trees. Where only some
// copies may take it, the others become a tree of their own. The trees of a root grow in two halves, after those of all
// other roots: the second half takes the arcs that the first left, so that both stay low.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "sim/collectives/design/broadcast_trees.hpp"
#include "sim/core/errors.hpp"
#include "topologies/cluster/flow_network.hpp"

namespace lockstep::collectives::design {
namespace {

/// A tree that does not reach all members yet.
struct Growing {
  BroadcastTree tree;
  std::vector<int> depth;  ///< of each member that it reaches; -1
  bool mirrored;           ///< takes the other one of two arcs that are as good
};

class Packing {
 public:
  Packing(const LinkGraph& graph, const std::vector<int>& trees_of) : members_(graph.members), left_(graph.arcs) {
    for (const bool mirrored : {true, false}) {
      for (int root = graph.members; root-- > 0;) {
        const int trees = trees_of[position_of(root)], copies = mirrored ? trees / 2 : trees - trees / 2;
        if (copies == 0) continue;
        Growing growing{{root, copies, {}}, std::vector<int>(position_of(graph.members), -1), mirrored};
        growing.depth[position_of(root)] = 0;
        waiting_.push_back(std::move(growing));
      }
    }
  }

  std::vector<BroadcastTree> pack() {
    std::vector<BroadcastTree> trees;
    while (!waiting_.empty()) {
      auto growing = std::move(waiting_.back());
      waiting_.pop_back();
      grow(growing);
      trees.push_back(std::move(growing.tree));
    }
    return trees;
  }

 private:
  using Ends = std::pair<int, int>;

  void grow(Growing& growing) {
    open_flows();
    std::map<Ends, bool> refused;
    while (std::cmp_less(growing.tree.arcs.size() + 1, members_)) {
      const auto [from, to] = next_arc(growing, refused);
      const auto spare = spared(growing.tree.copies, from, to);
      if (spare == 0) {
        refused[{from, to}] = true;
        continue;
      }
      if (spare < growing.tree.copies) {
        auto rest = growing;
        rest.tree.copies -= static_cast<int>(spare);
        growing.tree.copies = static_cast<int>(spare);
        waiting_.push_back(std::move(rest));
        open_flows();
      }
      const int depth = growing.depth[position_of(from)] + 1;
      growing.tree.arcs.push_back({from, to, depth, 0});
      growing.depth[position_of(to)] = depth;
      auto& left = left_[{from, to}];
      left -= growing.tree.copies;
      flows_->set_capacity(arcs_.at({from, to}), left);
    }
    sort(growing.tree, members_);
  }

  /// The arc that keeps the tree lowest; of those, one with much left.
  Ends next_arc(const Growing& growing, const std::map<Ends, bool>& refused) const {
    Ends best{-1, -1};
    std::tuple<int, std::int64_t, int, int> least;
    const auto turned = [&](int member) {
      const int place = (member - growing.tree.root + members_) % members_;
      return growing.mirrored ? -place : place;
    };
    for (const auto& [ends, left] : left_) {
      const auto [from, to] = ends;
      if (left == 0 || growing.depth[position_of(from)] < 0 || growing.depth[position_of(to)] >= 0) continue;
      const std::tuple key{growing.depth[position_of(from)], -left, turned(to), turned(from)};
      if (best.first >= 0 && !(key < least)) continue;
      if (refused.contains(ends)) continue;
      best = ends;
      least = key;
    }
    if (best.first < 0) throw InternalError("a tree of a collective cannot be completed");
    return best;
  }

  /// Flows of all waiting trees, which is all but the one that grows.
  void open_flows() {
    const int source = members_;
    flows_.emplace(members_ + 1 + static_cast<int>(waiting_.size()));
    arcs_.clear();
    for (const auto& [ends, left] : left_) arcs_[ends] = flows_->add_arc(ends.first, ends.second, left);
    demand_ = 0;
    std::vector<std::int64_t> whole(position_of(members_), 0);
    int node = source;
    for (const auto& waiting : waiting_) {
      demand_ += waiting.tree.copies;
      if (waiting.tree.arcs.empty()) {
        whole[position_of(waiting.tree.root)] += waiting.tree.copies;
        continue;
      }
      flows_->add_arc(source, ++node, waiting.tree.copies);
      for (int member = 0; member < members_; ++member) {
        if (waiting.depth[position_of(member)] >= 0) flows_->add_arc(node, member, topologies::FlowNetwork::unlimited);
      }
    }
    from_source_.clear();
    whole_ = std::move(whole);
    for (int member = 0; member < members_; ++member)
      from_source_.push_back(flows_->add_arc(source, member, whole_[position_of(member)]));
  }

  std::int64_t spared(int copies, int from, int to) {
    const auto at_tail = from_source_[position_of(from)];
    flows_->set_capacity(at_tail, topologies::FlowNetwork::unlimited);
    const auto least = flows_->max_flow(members_, to);
    flows_->set_capacity(at_tail, whole_[position_of(from)]);
    return std::max<std::int64_t>(0, std::min({std::int64_t{copies}, left_.at({from, to}), least - demand_}));
  }

  int members_;
  std::map<Ends, std::int64_t> left_;  ///< of each arc
  std::vector<Growing> waiting_;       ///< the last is the next
  std::optional<topologies::FlowNetwork> flows_;
  std::map<Ends, topologies::FlowNetwork::ArcId> arcs_;
  std::vector<topologies::FlowNetwork::ArcId> from_source_;
  std::vector<std::int64_t> whole_;  ///< trees of each member that have no arc yet
  std::int64_t demand_ = 0;
};

using TreesOnArcs = std::map<std::pair<int, int>, int>;

int depth_of(const BroadcastTrees& trees) {
  int depth = 0;
  for (const auto& tree : trees.trees) depth = std::max(depth, tree.arcs.back().depth);
  return depth;
}

void count_arcs(const BroadcastTrees& trees, bool reversed, TreesOnArcs& on_arcs) {
  for (const auto& tree : trees.trees) {
    for (const auto& arc : tree.arcs)
      on_arcs[reversed ? std::pair{arc.to, arc.from} : std::pair{arc.from, arc.to}] += tree.copies;
  }
}

TreeUse use_of(int depth, const TreesOnArcs& on_arcs) {
  TreeUse use{depth, 0, 0};
  for (const auto& [ends, count] : on_arcs) {
    use.most_on_an_arc = std::max(use.most_on_an_arc, count);
    use.arcs += count;
  }
  return use;
}

}  // namespace

void sort(BroadcastTree& tree, int members) {
  std::stable_sort(tree.arcs.begin(), tree.arcs.end(),
                   [](const TreeArc& a, const TreeArc& b) { return a.depth < b.depth; });
  std::vector<int> height(position_of(members), 0);
  for (auto arc = tree.arcs.rbegin(); arc != tree.arcs.rend(); ++arc) {
    arc->height = height[position_of(arc->to)];
    height[position_of(arc->from)] = std::max(height[position_of(arc->from)], arc->height + 1);
  }
}

int TreeUse::trees_of_channel() const {
  constexpr int most_channels = 32;  // of NCCL and MSCCL
  return (most_on_an_arc + most_channels - 1) / most_channels;
}

int BroadcastTrees::count() const { return std::accumulate(trees_of.begin(), trees_of.end(), 0); }

TreeUse BroadcastTrees::use() const {
  TreesOnArcs on_arcs;
  count_arcs(*this, false, on_arcs);
  return use_of(depth_of(*this), on_arcs);
}

TreeUse Design::use_both_ways() const {
  TreesOnArcs on_arcs;
  count_arcs(gather, false, on_arcs);
  count_arcs(reduce, true, on_arcs);
  return use_of(depth_of(reduce) + depth_of(gather), on_arcs);
}

BroadcastTrees packed(const LinkGraph& graph, std::vector<int> trees_of) {
  BroadcastTrees made{graph.members, std::move(trees_of), 0, 0, {}};
  made.trees = Packing(graph, made.trees_of).pack();
  std::stable_sort(made.trees.begin(), made.trees.end(),
                   [](const BroadcastTree& a, const BroadcastTree& b) { return a.root < b.root; });
  return made;
}

}  // namespace lockstep::collectives::design
