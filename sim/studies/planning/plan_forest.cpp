#include "sim/studies/planning/plan_forest.hpp"

#include <future>
#include <map>
#include <tuple>

namespace lockstep::planning {

std::vector<std::size_t> splits_of_layers(const PlanSpace& space) {
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::size_t> splits;
  std::vector<std::size_t> of_nodes;
  for (const auto& node : space.nodes()) {
    const std::tuple split{node.degrees.tensor, node.degrees.context, node.degrees.expert};
    of_nodes.push_back(splits.try_emplace(split, splits.size()).first->second);
  }
  return of_nodes;
}

PlanForest::PlanForest(const PlanSpace& space, int threads) {
  for (int i = 0; i < threads; ++i) trees_.push_back(std::make_unique<PlanTree>(space));
  for (const auto split : splits_of_layers(space)) tree_of_node_.push_back(split % trees_.size());
}

template <class NodeOf, class Visit>
void PlanForest::grow(std::size_t count, NodeOf node_of, Visit visit) {
  const auto on_tree = [&](std::size_t tree) {
    for (std::size_t i = 0; i < count; ++i) {
      if (tree_of_node_[position_of(node_of(i))] == tree) visit(*trees_[tree], i);
    }
  };
  std::vector<std::size_t> number(trees_.size(), 0);
  for (std::size_t i = 0; i < count; ++i) ++number[tree_of_node_[position_of(node_of(i))]];
  std::vector<std::future<void>> others;
  std::size_t own = trees_.size();
  for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
    if (number[tree] == 0) continue;
    if (own < trees_.size()) others.push_back(std::async(std::launch::async, on_tree, own));
    own = tree;
  }
  if (own < trees_.size()) on_tree(own);
  for (auto& other : others) other.get();
}

std::vector<PlanBranch> PlanForest::roots() {
  std::vector<PlanBranch> roots(tree_of_node_.size());
  grow(
      roots.size(), [](std::size_t i) { return i; },
      [&](PlanTree& tree, std::size_t i) { roots[i] = tree.root(static_cast<std::int32_t>(i)); });
  return roots;
}

std::vector<PlanTree::Branches> PlanForest::below(std::span<const PlanBranch> branches) {
  std::vector<PlanTree::Branches> result(branches.size());
  grow(
      branches.size(), [&](std::size_t i) { return branches[i].node; },
      [&](PlanTree& tree, std::size_t i) { result[i] = tree.below(branches[i]); });
  return result;
}

std::int64_t PlanForest::bounds() const {
  std::int64_t bounds = 0;
  for (const auto& tree : trees_) bounds += tree->bounds();
  return bounds;
}

}  // namespace lockstep::planning
