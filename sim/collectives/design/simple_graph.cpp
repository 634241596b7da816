#include "sim/collectives/design/simple_graph.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace lockstep::collectives::design {
namespace {

using Capacities = std::map<int, std::int64_t>;  ///< by neighbour

std::int64_t sum(const Capacities& arcs, int without) {
  std::int64_t total = 0;
  for (const auto& [node, capacity] : arcs) total += node == without ? 0 : capacity;
  return total;
}
std::int64_t of(const Capacities& arcs, int node) {
  const auto known = arcs.find(node);
  return known == arcs.end() ? 0 : known->second;
}

class Simplifying {
 public:
  explicit Simplifying(const LinkGraph& graph)
      : members_(graph.members),
        out_(static_cast<std::size_t>(graph.nodes)),
        in_(out_.size()),
        there_(out_.size(), true) {
    for (const auto& [ends, capacity] : graph.arcs) add(ends.first, ends.second, capacity);
    for (int node = 0; node < graph.nodes; ++node) stands_for_.push_back({node});
  }

  SimpleGraph simplify() {
    for (bool changed = true; changed;) {
      changed = join_twins();
      for (int node = members_; node < nodes(); ++node) {
        if (there_[place(node)] && (leave_out(node) || join_to_neighbour(node))) changed = true;
      }
    }
    SimpleGraph made;
    std::vector<int> number(out_.size(), -1);
    for (int node = 0; node < nodes(); ++node) {
      if (!there_[place(node)]) continue;
      number[place(node)] = made.graph.nodes++;
      made.stands_for.push_back(std::move(stands_for_[place(node)]));
    }
    made.graph.members = members_;
    for (int node = 0; node < nodes(); ++node) {
      for (const auto& [to, capacity] : out_[place(node)])
        made.graph.add(number[place(node)], number[place(to)], capacity);
    }
    return made;
  }

 private:
  static std::size_t place(int node) { return static_cast<std::size_t>(node); }
  [[nodiscard]] int nodes() const { return static_cast<int>(out_.size()); }

  void add(int from, int to, std::int64_t capacity) {
    if (from == to || capacity == 0) return;
    out_[place(from)][to] += capacity;
    in_[place(to)][from] += capacity;
  }
  void remove(int node) {
    for (const auto& [to, capacity] : out_[place(node)]) in_[place(to)].erase(node);
    for (const auto& [from, capacity] : in_[place(node)]) out_[place(from)].erase(node);
    out_[place(node)].clear();
    in_[place(node)].clear();
    there_[place(node)] = false;
  }

  /// Nodes with at most two neighbours.
  bool leave_out(int node) {
    std::set<int> neighbours;
    for (const auto* arcs : {&out_[place(node)], &in_[place(node)]}) {
      for (const auto& [other, capacity] : *arcs) neighbours.insert(other);
    }
    if (neighbours.size() > 2) return false;
    const auto out = out_[place(node)], in = in_[place(node)];
    remove(node);
    if (neighbours.size() < 2) return true;
    const int one = *neighbours.begin(), other = *neighbours.rbegin();
    add(one, other, std::min(of(in, one), of(out, other)));
    add(other, one, std::min(of(in, other), of(out, one)));
    return true;
  }

  void join(int node, int to) {
    const auto out = out_[place(node)], in = in_[place(node)];
    remove(node);
    for (const auto& [other, capacity] : out) add(to, other, capacity);
    for (const auto& [other, capacity] : in) add(other, to, capacity);
    auto& others = stands_for_[place(node)];
    stands_for_[place(to)].insert(stands_for_[place(to)].end(), others.begin(), others.end());
  }

  bool join_to_neighbour(int node) {
    const auto& out = out_[place(node)];
    const auto& in = in_[place(node)];
    for (const auto& [neighbour, to_neighbour] : out) {
      if (of(in, neighbour) < sum(out, neighbour) || to_neighbour < sum(in, neighbour)) continue;
      join(node, neighbour);
      return true;
    }
    return false;
  }

  /// The same capacities to and from the same neighbours, times one factor.
  [[nodiscard]] bool are_twins(int one, int other) const {
    const auto ratio = [&](int node) { return out_[place(node)].begin()->second; };
    const auto alike = [&](const Capacities& left, const Capacities& right) {
      return std::equal(left.begin(), left.end(), right.begin(), right.end(), [&](const auto& a, const auto& b) {
        return a.first == b.first &&
               static_cast<Wide>(a.second) * ratio(other) == static_cast<Wide>(b.second) * ratio(one);
      });
    };
    return alike(out_[place(one)], out_[place(other)]) && alike(in_[place(one)], in_[place(other)]);
  }

  bool join_twins() {
    std::map<std::vector<int>, int> first;
    bool changed = false;
    for (int node = members_; node < nodes(); ++node) {
      if (!there_[place(node)] || out_[place(node)].empty()) continue;
      std::vector<int> neighbours;
      for (const auto& [other, capacity] : out_[place(node)]) neighbours.push_back(other);
      const auto [known, is_new] = first.try_emplace(std::move(neighbours), node);
      if (is_new || !are_twins(known->second, node)) continue;
      join(node, known->second);
      changed = true;
    }
    return changed;
  }

  int members_;
  std::vector<Capacities> out_, in_;
  std::vector<bool> there_;
  std::vector<std::vector<int>> stands_for_;
};

}  // namespace

SimpleGraph simplified(const LinkGraph& graph) { return Simplifying(graph).simplify(); }

}  // namespace lockstep::collectives::design
