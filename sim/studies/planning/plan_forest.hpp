#pragma once
/// The tree of a plan space, grown by several threads. Each thread has a tree of its own, and everything below one
/// split of layers grows on the same tree, which knows its summaries.
#include <memory>
#include <span>
#include <vector>

#include "sim/studies/planning/plan_tree.hpp"

namespace lockstep::planning {

/// By node: which of the space's splits of layers it has, by tensor, context and expert parallelism. Nodes of one split
/// share summaries.
[[nodiscard]] std::vector<std::size_t> splits_of_layers(const PlanSpace& space);

class PlanForest {
 public:
  PlanForest(const PlanSpace& space, int threads);

  [[nodiscard]] std::vector<PlanBranch> roots();
  /// The branches below each of the given branches, in their order.
  [[nodiscard]] std::vector<PlanTree::Branches> below(std::span<const PlanBranch> branches);
  [[nodiscard]] std::int64_t bounds() const;
  [[nodiscard]] int threads() const { return static_cast<int>(trees_.size()); }

 private:
  /// Visits the numbers below `count`: those of one tree in order, different trees in parallel.
  template <class NodeOf, class Visit>
  void grow(std::size_t count, NodeOf node_of, Visit visit);

  std::vector<std::unique_ptr<PlanTree>> trees_;
  std::vector<std::size_t> tree_of_node_;
};

}  // namespace lockstep::planning
