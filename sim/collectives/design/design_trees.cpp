#include <algorithm>
#include <numeric>

#include "sim/collectives/design/bottleneck_cut.hpp"
#include "sim/collectives/design/broadcast_trees.hpp"
#include "sim/collectives/design/split_switches.hpp"
#include "sim/collectives/design/tree_demand.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives::design {
namespace {

constexpr int most_trees_of_root = 16;  // more make a program of more steps than any library runs

/// Arcs as numbers of trees, where each root has `trees` and sends at capacity / roots, over `loss`.
LinkGraph in_trees(const LinkGraph& graph, int trees, const BottleneckCut& cut, std::int64_t loss_of_1000) {
  LinkGraph scaled{graph.members, graph.nodes, {}};
  const auto all = static_cast<__int128>(graph.members) * trees;
  for (const auto& [ends, capacity] : graph.arcs) {
    const auto units = static_cast<__int128>(capacity) * trees * cut.roots * (1000 + loss_of_1000) /
                       (static_cast<__int128>(cut.capacity) * 1000);
    scaled.add(ends.first, ends.second, static_cast<std::int64_t>(std::min(units, all)));
  }
  return scaled;
}

/// Trees on one network, for several numbers of them.
class Designing {
 public:
  Designing(const LinkGraph& whole, std::int64_t unit)
      : simple_(simplified(whole)), cut_(bottleneck_cut(simple_.graph)), unit_(unit), hops_(hops_of(whole)) {
    if (cut_.capacity == 0) throw InternalError("a collective is designed on a network in parts");
  }

  /// At the best rate where so few trees reach it, else at the nearest rate.
  BroadcastTrees at_best_rate() {
    const auto exact = cut_.capacity / std::gcd(cut_.capacity, std::int64_t{cut_.roots});
    const int most = static_cast<int>(std::min<std::int64_t>(most_trees_of_root, exact));
    int best = 1;
    std::int64_t least = most_loss + 1;
    for (int trees = 1; trees <= most && least > 0; ++trees) {
      const auto loss = least_loss(trees, least);
      if (loss >= least) continue;
      least = loss;
      best = trees;
    }
    return with(best, least);
  }
  /// At the best rate that this number of trees of each root reaches.
  BroadcastTrees with(int trees) { return with(trees, least_loss(trees, most_loss + 1)); }

 private:
  static constexpr std::int64_t most_loss = 20'000;  // of 1000: what a single tree of a root never needs

  /// By bisection, if it is below `limit`; else something that is not.
  std::int64_t least_loss(int trees, std::int64_t limit) {
    const auto fits = [&](std::int64_t loss) {
      return TreeDemand(in_trees(simple_.graph, trees, cut_, loss), trees).is_met();
    };
    if (fits(0)) return 0;
    if (!fits(limit - 1)) return limit;
    std::int64_t too_little = 0, enough = limit - 1;
    while (enough - too_little > 1) {
      const auto middle = (too_little + enough) / 2;
      (fits(middle) ? enough : too_little) = middle;
    }
    return enough;
  }

  /// Where arcs are not as fast both ways, switches may need somewhat more than the demand to be split.
  BroadcastTrees with(int trees, std::int64_t loss) {
    for (; loss <= 2 * most_loss; loss += 1 + loss / 20) {
      auto joined = without_switches({in_trees(simple_.graph, trees, cut_, loss), simple_.stands_for}, trees, hops_);
      if (!joined) continue;
      auto made = packed(*joined, trees);
      made.best_rate = rate(0);
      made.rate = rate(loss);
      return made;
    }
    throw InternalError("no trees of a collective were found on a network that joins all members");
  }

  /// Of each root, with which all arcs are within their capacities.
  [[nodiscard]] double rate(std::int64_t loss) const {
    return static_cast<double>(cut_.capacity) / cut_.roots * static_cast<double>(unit_) * 1000 /
           static_cast<double>(1000 + loss);
  }

  SimpleGraph simple_;
  BottleneckCut cut_;
  std::int64_t unit_;
  Hops hops_;
};

}  // namespace

std::optional<std::pair<std::string, std::string>> why_not_designed(std::int64_t members, std::int64_t arcs) {
  if (members > most_members) {
    return std::pair<std::string, std::string>{
        "a collective for " + std::to_string(members) + " ranks is too large to design",
        "at most " + std::to_string(most_members) + " ranks, such as those of one node or of a part of the axis"};
  }
  if (arcs > most_arcs) {
    return std::pair<std::string, std::string>{
        "a network of " + std::to_string(arcs) + " links is too large to design a collective on",
        "at most " + std::to_string(most_arcs) + " links"};
  }
  return std::nullopt;
}

std::vector<Design> designs_for(const GroupLinks& links) {
  Designing down(links.graph, links.unit);
  const auto reversed = links.graph.reversed();
  std::optional<Designing> up;
  if (!(reversed == links.graph)) up.emplace(reversed, links.unit);
  std::vector<Design> designs;
  const auto add = [&](BroadcastTrees gather, std::optional<BroadcastTrees> reduce) {
    designs.push_back({gather, reduce ? *std::move(reduce) : gather});
  };
  add(down.at_best_rate(), up ? std::optional(up->at_best_rate()) : std::nullopt);
  for (const int trees : {4, 2, 1}) {
    if (trees < designs.back().gather.trees_of_root)
      add(down.with(trees), up ? std::optional(up->with(trees)) : std::nullopt);
  }
  return designs;
}

}  // namespace lockstep::collectives::design
