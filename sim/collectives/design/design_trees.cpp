#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "sim/collectives/design/bottleneck_cut.hpp"
#include "sim/collectives/design/broadcast_trees.hpp"
#include "sim/collectives/design/pieces.hpp"
#include "sim/collectives/design/split_switches.hpp"
#include "sim/collectives/design/two_way_trees.hpp"
#include "sim/collectives/design/weakest_partition.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives::design {
namespace {

/// Trees for each member: more make a program of more steps than any library runs, or than are simulated.
int most_trees_of_root(int members, int passes) {
  const auto steps = std::int64_t{passes} * members * (members - 1);
  return static_cast<int>(std::clamp<std::int64_t>(most_steps / steps, 1, 16));
}

/// What an arc of capacity 1 carries at the best rate: so many of `of` trees.
struct Share {
  std::int64_t trees, of;
};

/// Arcs as numbers of trees, where an arc's share may be larger by a loss.
LinkGraph in_trees(const LinkGraph& graph, int trees, Share share, std::int64_t most, std::int64_t loss_of_1000) {
  LinkGraph scaled{graph.members, graph.nodes, {}};
  for (const auto& [ends, capacity] : graph.arcs) {
    const auto units = static_cast<Wide>(capacity) * trees * share.trees * (1000 + loss_of_1000) /
                       (static_cast<Wide>(share.of) * 1000);
    scaled.add(ends.first, ends.second, static_cast<std::int64_t>(std::min<Wide>(units, most)));
  }
  return scaled;
}

/// Trees on one network, for several numbers of them: for one pass of each root, for both passes in all.
class Designing {
 public:
  /// The network must join all members.
  Designing(const LinkGraph& whole, std::int64_t unit, TreesFor what)
      : what_(what), simple_(simplified(whole)), share_(share_on(simple_.graph, what)), hops_(hops_of(whole)) {
    if (share_.of == 0) throw InternalError("a collective is designed on a network in parts");
    // A tree carries V / (N trees) for one pass, V / trees for both.
    best_rate_ = static_cast<double>(share_.of) / static_cast<double>(share_.trees) * static_cast<double>(unit);
    if (what == TreesFor::both_passes) best_rate_ /= whole.members;
    auto least = std::numeric_limits<std::int64_t>::max();
    for (const auto& [ends, capacity] : simple_.graph.arcs) least = std::min(least, capacity);
    most_loss_ = static_cast<std::int64_t>(1000 * static_cast<Wide>(most_on_an_arc(1)) * share_.of /
                                           (static_cast<Wide>(least) * share_.trees));
  }

  /// The least number of trees of which every link carries a whole number at the best rate.
  [[nodiscard]] std::int64_t trees_without_loss() const { return share_.of / std::gcd(share_.of, share_.trees); }

  /// Of these numbers the one that comes nearest to the best rate; of equal ones the first.
  BroadcastTrees nearest(const std::vector<int>& numbers) {
    int best = numbers.front();
    std::int64_t least = most_loss_ + 1;
    for (const int trees : numbers) {
      const auto loss = least_loss(trees, least);
      if (loss >= least) continue;
      least = loss;
      best = trees;
      if (least == 0) break;
    }
    return with(best, least);
  }
  /// At the best rate that this number of trees reaches.
  BroadcastTrees with(int trees) { return with(trees, least_loss(trees, most_loss_ + 1)); }

 private:
  static Share share_on(const LinkGraph& graph, TreesFor what) {
    if (what == TreesFor::one_pass) {
      const auto cut = bottleneck_cut(graph);
      return {cut.roots, cut.capacity};
    }
    const auto partition = weakest_partition(graph);
    return {2 * (partition.parts - std::int64_t{1}), partition.capacity};
  }

  [[nodiscard]] LinkGraph scaled(int trees, std::int64_t loss) const {
    return in_trees(simple_.graph, trees, share_, most_on_an_arc(trees), loss);
  }
  /// More than that changes nothing.
  [[nodiscard]] std::int64_t most_on_an_arc(int trees) const {
    return (what_ == TreesFor::one_pass ? 1 : 2) * std::int64_t{simple_.graph.members} * trees;
  }

  /// By bisection, if it is below `limit`; else something that is not.
  [[nodiscard]] std::int64_t least_loss(int trees, std::int64_t limit) const {
    const auto fits = [&](std::int64_t loss) { return carries(scaled(trees, loss), what_, trees); };
    if (fits(0)) return 0;
    if (!fits(limit - 1)) return limit;
    std::int64_t too_little = 0, enough = limit - 1;
    while (enough - too_little > 1) {
      const auto middle = (too_little + enough) / 2;
      (fits(middle) ? enough : too_little) = middle;
    }
    return enough;
  }

  /// Switches may need somewhat more than the demand to be split (without_switches).
  [[nodiscard]] BroadcastTrees with(int trees, std::int64_t loss) const {
    for (; loss <= 2 * most_loss_; loss += 1 + loss / 20) {
      const auto joined = without_switches({scaled(trees, loss), simple_.stands_for}, what_, trees, hops_);
      if (!joined) continue;
      auto made = what_ == TreesFor::one_pass ? packed(*joined, std::vector<int>(position_of(joined->members), trees))
                                              : packed_two_way(*joined, trees);
      made.best_rate = best_rate_;
      made.rate = best_rate_ * 1000 / static_cast<double>(1000 + loss);
      return made;
    }
    throw InternalError("no trees of a collective were found on a network that joins all members");
  }

  TreesFor what_;
  SimpleGraph simple_;
  Share share_;
  double best_rate_ = 0;
  std::int64_t most_loss_ = 0;  ///< of 1000, with which every arc could carry all trees
  Hops hops_;
};

/// What is as fast both ways.
LinkGraph both_ways(const LinkGraph& graph) {
  LinkGraph both{graph.members, graph.nodes, {}};
  for (const auto& [ends, capacity] : graph.arcs) {
    const auto back = graph.arcs.find({ends.second, ends.first});
    if (back != graph.arcs.end()) both.add(ends.first, ends.second, std::min(capacity, back->second));
  }
  return both;
}

std::vector<int> up_to(std::int64_t most) {
  std::vector<int> numbers(position_of(most));
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

void add_two_way(const LinkGraph& graph, std::int64_t unit, std::vector<Design>& designs) {
  Designing designing(graph, unit, TreesFor::both_passes);
  const int members = graph.members, most_of_root = most_trees_of_root(members, 2);
  const auto without_loss = designing.trees_without_loss(), most = std::int64_t{most_of_root} * members;
  std::vector<int> near;
  if (without_loss <= most) near.push_back(static_cast<int>(without_loss));
  for (const int of_root : up_to(most_of_root)) near.push_back(of_root * members);
  std::set<int> known;
  const auto add = [&](BroadcastTrees trees) {
    if (known.insert(trees.count()).second) designs.push_back({trees, trees});
  };
  auto best = designing.nearest(near);
  if (best.rate < best.best_rate && 2 * best.count() <= most) {  // a link's odd units do not pair over a switch
    auto twice = designing.with(2 * best.count());
    if (twice.rate > best.rate) best = std::move(twice);
  }
  add(std::move(best));
  // As many trees as make each member the root of some are lower where all are joined directly.
  const auto alike = std::lcm<std::int64_t>(designs.back().gather.count(), members);
  if (alike <= most) add(designing.with(static_cast<int>(alike)));
  for (const int trees : {2 * members, members, members / 2, 4, 1}) {
    if (trees > 0 && trees < designs.front().gather.count()) add(designing.with(trees));
  }
}

/// One pass after the other, from equal roots.
void add_two_passes(const GroupLinks& links, std::vector<Design>& designs) {
  Designing down(links.graph, links.unit, TreesFor::one_pass);
  Designing up(links.graph.reversed(), links.unit, TreesFor::one_pass);
  std::set<int> numbers{most_trees_of_root(links.graph.members, 2), 1};
  for (const int trees : {2, 4}) numbers.insert(std::min(trees, *numbers.rbegin()));
  for (const int trees : numbers) {
    Design design{down.with(trees), up.with(trees)};
    design.gather.rate = design.reduce.rate = 1 / (1 / design.gather.rate + 1 / design.reduce.rate);
    designs.push_back(std::move(design));
  }
}

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
  Designing down(links.graph, links.unit, TreesFor::one_pass);
  const auto reversed = links.graph.reversed();
  std::optional<Designing> up;
  if (!(reversed == links.graph)) up.emplace(reversed, links.unit, TreesFor::one_pass);
  std::vector<Design> designs;
  const auto add = [&](BroadcastTrees gather, std::optional<BroadcastTrees> reduce) {
    designs.push_back({gather, reduce ? *std::move(reduce) : gather});
  };
  const std::int64_t most = most_trees_of_root(links.graph.members, 1);
  const auto nearest = [&](Designing& pass) { return pass.nearest(up_to(std::min(most, pass.trees_without_loss()))); };
  add(nearest(down), up ? std::optional(nearest(*up)) : std::nullopt);
  for (const int trees : {4, 2, 1}) {
    if (trees < designs.back().gather.trees_of.front())
      add(down.with(trees), up ? std::optional(up->with(trees)) : std::nullopt);
  }
  return designs;
}

std::vector<Design> all_reduce_designs_for(const GroupLinks& links) {
  std::vector<Design> designs;
  const auto both = both_ways(links.graph);
  if (weakest_partition(both).capacity > 0) add_two_way(both, links.unit, designs);
  if (both == links.graph) return designs;
  add_two_passes(links, designs);
  const auto weakest = weakest_partition(links.graph);
  const double best_rate = static_cast<double>(weakest.capacity) * static_cast<double>(links.unit) /
                           (2.0 * (weakest.parts - 1) * links.graph.members);
  for (auto& design : designs) design.gather.best_rate = design.reduce.best_rate = best_rate;
  return designs;
}

}  // namespace lockstep::collectives::design
