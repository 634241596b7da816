// A switch is first split by a guess: what comes in from each neighbour is spread evenly over the neighbours that the
// shortest ways lead to. A check by flows accepts the guess or refuses it. Where every guess is refused, many paths
// over the switch are split off at once as long as all trees fit, and the rest one by one, each as far as all cuts
// allow (Bang-Jensen, Frank and Jackson 1995; Berczi and Frank 2010), which never fails where as much leads into the
// switch as out of it. For trees that serve both passes of an all-reduce a path is split off both ways at once.
#include "sim/collectives/design/split_switches.hpp"

#include <algorithm>
#include <deque>

#include "sim/collectives/design/tree_demand.hpp"
#include "sim/collectives/design/two_way_trees.hpp"

namespace lockstep::collectives::design {
namespace {

struct Neighbour {
  int node;
  std::int64_t in = 0, out = 0;  ///< capacity into the switch and out of it
};

enum class Pairs { nearest, shortest, any };

class Splitting {
 public:
  Splitting(const SimpleGraph& simple, TreesFor what, int trees, const Hops& hops)
      : graph_(simple.graph), simple_(simple), what_(what), trees_(trees), hops_(hops) {}

  std::optional<LinkGraph> split() {
    for (const int by : in_order()) {
      if (split_by_guess(by)) continue;
      split_in_layers(by);
      if (!(both_ways() ? split_pair_by_pair(by) : split_path_by_path(by))) return std::nullopt;
    }
    graph_.nodes = graph_.members;
    return std::move(graph_);
  }

 private:
  [[nodiscard]] bool both_ways() const { return what_ == TreesFor::both_passes; }
  [[nodiscard]] bool fits() const { return carries(graph_, what_, trees_); }
  [[nodiscard]] bool is_member(int node) const { return node < graph_.members; }

  /// Switches without members first, since what lies below them decides how to use what they give.
  [[nodiscard]] std::vector<int> in_order() const {
    std::vector<int> with, without;
    for (int node = graph_.members; node < graph_.nodes; ++node) {
      bool has_member = false;
      for (const auto& neighbour : neighbours(node)) has_member = has_member || is_member(neighbour.node);
      (has_member ? with : without).push_back(node);
    }
    without.insert(without.end(), with.begin(), with.end());
    return without;
  }

  [[nodiscard]] std::vector<Neighbour> neighbours(int by) const {
    std::map<int, Neighbour> found;
    for (const auto& [ends, capacity] : graph_.arcs) {
      if (ends.second == by) found.try_emplace(ends.first, Neighbour{ends.first}).first->second.in += capacity;
      if (ends.first == by) found.try_emplace(ends.second, Neighbour{ends.second}).first->second.out += capacity;
    }
    std::vector<Neighbour> list;
    for (const auto& [node, neighbour] : found) list.push_back(neighbour);
    return list;
  }

  [[nodiscard]] int hops_over(int from, int by, int to) const {
    int least = 1 << 20;
    for (const int node : simple_.stands_for[position_of(by)]) {
      least = std::min(least, hops_[position_of(from)][position_of(node)] + hops_[position_of(to)][position_of(node)]);
    }
    return least;
  }

  /// Which pairs of neighbours a guess may join, by position.
  [[nodiscard]] std::vector<std::vector<bool>> allowed(int by, const std::vector<Neighbour>& around,
                                                       Pairs pairs) const {
    std::vector<std::vector<bool>> may(around.size(), std::vector<bool>(around.size(), true));
    for (std::size_t a = 0; a < around.size(); ++a) {
      may[a][a] = false;
      if (!is_member(around[a].node) || pairs == Pairs::any) continue;
      std::vector<int> over(around.size(), -1);
      int nearest = 1 << 20;
      for (std::size_t b = 0; b < around.size(); ++b) {
        if (b == a || !is_member(around[b].node)) continue;
        over[b] = hops_over(around[a].node, by, around[b].node);
        if (over[b] > hops_[position_of(around[a].node)][position_of(around[b].node)]) may[a][b] = false;
        if (may[a][b]) nearest = std::min(nearest, over[b]);
      }
      for (std::size_t b = 0; b < around.size() && pairs == Pairs::nearest; ++b) {
        if (over[b] > nearest) may[a][b] = false;
      }
    }
    return may;
  }

  bool split_by_guess(int by) {
    const auto before = graph_;
    for (const auto pairs : {Pairs::nearest, Pairs::shortest, Pairs::any}) {
      auto around = neighbours(by);
      const auto may = allowed(by, around, pairs);
      remove(by);
      const auto members = std::count_if(around.begin(), around.end(),
                                         [&](const Neighbour& neighbour) { return is_member(neighbour.node); });
      // Between switches and members first: that is what only this switch can do.
      if (members > 0 && std::cmp_less(members, around.size())) {
        spread(around,
               [&](std::size_t a, std::size_t b) { return is_member(around[a].node) != is_member(around[b].node); });
      }
      spread(around, [&](std::size_t a, std::size_t b) {
        return may[a][b] && is_member(around[a].node) == is_member(around[b].node) &&
               (members == 0 || is_member(around[a].node));
      });
      if (fits()) return true;
      graph_ = before;
    }
    return false;
  }

  void remove(int by) {
    std::erase_if(graph_.arcs, [&](const auto& arc) { return arc.first.first == by || arc.first.second == by; });
  }

  /// Joins pairs unit by unit, each neighbour with the one after it, then with the one after that, and so on, around
  /// and around.
  template <class May>
  void spread(std::vector<Neighbour>& around, May may) {
    const std::size_t count = around.size();
    const auto give = [&](Neighbour& from, Neighbour& to) {
      --from.in;
      --to.out;
      graph_.add(from.node, to.node, 1);
    };
    for (bool more = true; more;) {
      more = false;
      for (std::size_t offset = 1; offset <= last_offset(count); ++offset) {
        for (std::size_t a = 0; a < count; ++a) {
          const std::size_t b = (a + offset) % count;
          if (both_ways() && 2 * offset == count && b < a) continue;  // the pair has been given already
          if (!may(a, b) || around[a].in == 0 || around[b].out == 0) continue;
          if (both_ways() && (!may(b, a) || around[b].in == 0 || around[a].out == 0)) continue;
          give(around[a], around[b]);
          if (both_ways()) give(around[b], around[a]);
          more = true;
        }
      }
    }
  }

  /// Of pairs of neighbours by how far they are from each other around a switch; both ways the nearer half are all.
  [[nodiscard]] std::size_t last_offset(std::size_t count) const {
    return both_ways() || count == 0 ? count / 2 : count - 1;
  }

  /// Splits off a path from every neighbour to the one that many places after it, all at once, as long as all trees
  /// fit.
  void split_in_layers(int by) {
    const auto list = neighbours(by);
    const auto may = allowed(by, list, Pairs::shortest);
    for (std::size_t offset = 1; offset <= last_offset(list.size()); ++offset) {
      for (std::int64_t units = trees_; units > 0;) {
        auto before = graph_;
        bool some = false;
        for (std::size_t a = 0; a < list.size(); ++a) {
          const std::size_t b = (a + offset) % list.size();
          if (may[a][b] && move(list[a].node, by, list[b].node, units)) some = true;
        }
        if (some && fits()) continue;
        graph_ = std::move(before);
        units = some ? units / 2 : 0;
      }
    }
  }

  /// Splits off at most so many units of the path from `from` over `by` to `to`, and back where that is asked for.
  bool move(int from, int by, int to, std::int64_t most) {
    most = std::min(most, can_move(from, by, to));
    if (most == 0) return false;
    const auto one_way = [&](int one, int other) {
      take({one, by}, most);
      take({by, other}, most);
      graph_.add(one, other, most);
    };
    one_way(from, to);
    if (both_ways()) one_way(to, from);
    return true;
  }
  [[nodiscard]] std::int64_t can_move(int from, int by, int to) const {
    const auto there = std::min(capacity({from, by}), capacity({by, to}));
    return both_ways() ? std::min({there, capacity({to, by}), capacity({by, from})}) : there;
  }

  bool split_pair_by_pair(int by) {
    const auto list = neighbours(by);
    for (std::size_t a = 0; a < list.size(); ++a) {
      for (std::size_t b = a + 1; b < list.size(); ++b) {
        for (auto units = can_move(list[a].node, by, list[b].node); units > 0;) {
          auto before = graph_;
          if (move(list[a].node, by, list[b].node, units) && fits()) {
            units = std::min(units, can_move(list[a].node, by, list[b].node));
            continue;
          }
          graph_ = std::move(before);
          units /= 2;
        }
      }
    }
    remove(by);
    return fits();
  }

  bool split_path_by_path(int by) {
    TreeDemand demand(graph_, trees_);
    const auto list = neighbours(by);
    const auto may = allowed(by, list, Pairs::shortest);
    for (const bool shortest : {true, false}) {
      for (std::size_t a = 0; a < list.size(); ++a) {
        for (std::size_t b = 0; b < list.size(); ++b) {
          if (a == b || may[a][b] != shortest) continue;
          const std::pair into{list[a].node, by}, out{by, list[b].node}, joined{list[a].node, list[b].node};
          const auto most = std::min(capacity(into), capacity(out));
          if (most == 0) continue;
          const auto units = demand.spare(list[a].node, by, list[b].node, most);
          if (units == 0) continue;
          take(into, units);
          take(out, units);
          demand.set(into.first, into.second, capacity(into));
          demand.set(out.first, out.second, capacity(out));
          graph_.add(joined.first, joined.second, units);
          demand.set(joined.first, joined.second, graph_.arcs[joined]);
        }
      }
    }
    remove(by);
    return fits();
  }

  [[nodiscard]] std::int64_t capacity(const std::pair<int, int>& ends) const {
    const auto known = graph_.arcs.find(ends);
    return known == graph_.arcs.end() ? 0 : known->second;
  }
  void take(const std::pair<int, int>& ends, std::int64_t units) {
    auto& left = graph_.arcs[ends];
    left -= units;
    if (left == 0) graph_.arcs.erase(ends);
  }

  LinkGraph graph_;
  const SimpleGraph& simple_;
  TreesFor what_;
  int trees_;
  const Hops& hops_;
};

}  // namespace

Hops hops_of(const LinkGraph& graph) {
  std::vector<std::vector<int>> next(position_of(graph.nodes));
  for (const auto& [ends, capacity] : graph.arcs) next[position_of(ends.first)].push_back(ends.second);
  Hops hops;
  for (int member = 0; member < graph.members; ++member) {
    auto& from = hops.emplace_back(position_of(graph.nodes), 1 << 20);
    from[position_of(member)] = 0;
    std::deque<int> reached{member};
    for (; !reached.empty(); reached.pop_front()) {
      for (const int node : next[position_of(reached.front())]) {
        if (from[position_of(node)] < 1 << 20) continue;
        from[position_of(node)] = from[position_of(reached.front())] + 1;
        reached.push_back(node);
      }
    }
  }
  return hops;
}

std::optional<LinkGraph> without_switches(const SimpleGraph& simple, TreesFor what, int trees, const Hops& hops) {
  return Splitting(simple, what, trees, hops).split();
}

bool carries(const LinkGraph& graph, TreesFor what, int trees) {
  return what == TreesFor::both_passes ? carries_two_way(graph, trees) : TreeDemand(graph, trees).is_met();
}

}  // namespace lockstep::collectives::design
