#pragma once
/// Scenarios at random: models, clusters, plans and settings of every kind, small enough to be simulated in a moment.
#include "tests/metamorphic/draft.hpp"

namespace lockstep::test {

/// What the choice of a plan has to know of a cluster.
struct RandomCluster {
  std::int64_t chips = 1;
  std::int64_t of_unit = 1;  ///< chips that are joined best: of a node, or all of a torus
  bool is_torus = false;
  bool has_fabric = false;
};

/// Writes `cluster` and `model_of_time`; every quantity is marked.
RandomCluster add_random_cluster(Draft& draft, Random& random);

struct RandomModel {
  std::int64_t layers = 1;
  std::int64_t heads = 0;  ///< 0: nothing that a tensor axis has to divide
  std::int64_t experts = 0;
  bool replayed = false, two_matmuls = false;
};
RandomModel add_random_model(Draft& draft, Random& random);

/// Writes all else. The result may be refused: not every combination is possible.
void add_random_plan(Draft& draft, const RandomCluster& cluster, const RandomModel& model, Random& random);

[[nodiscard]] Draft random_draft(Random& random);

}  // namespace lockstep::test
