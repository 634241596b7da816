#include "sim/preparation/expected_places.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::preparation {
namespace {

constexpr std::size_t most_named = 4;

/// Nodes whose names differ only in their numbers, such as spine(0) and spine(1).
struct Kind {
  std::string word, first, last;
  std::int64_t count = 0;

  [[nodiscard]] std::string text() const {
    return count == 1
               ? first
               : (count > 2 ? "one of the " + std::to_string(count) + " from " + first + " to " : first + " or ") +
                     last;
  }
};

std::string word_of(const std::string& name) { return name.substr(0, name.find('(')); }

std::vector<Kind> kinds_of(const topologies::Cluster& cluster) {
  std::vector<Kind> kinds;
  for (topologies::NodeId node = 0; node < cluster.nodes(); ++node) {
    const auto& name = cluster.node(node).name;
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& one) { return one.word == word_of(name); });
    if (kind == kinds.end()) kind = kinds.insert(kind, Kind{word_of(name), name, "", 0});
    kind->last = name;
    ++kind->count;
  }
  return kinds;
}

bool is_there(const std::string& name, const topologies::Cluster& cluster) {
  for (topologies::NodeId node = 0; node < cluster.nodes(); ++node) {
    if (cluster.node(node).name == name) return true;
  }
  return false;
}

/// Nodes called as this one is, or the kinds that there are.
std::string nodes_like(const std::string& name, const topologies::Cluster& cluster) {
  const auto kinds = kinds_of(cluster);
  const auto same =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& one) { return one.word == word_of(name); });
  if (same != kinds.end()) return same->text();
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    text += (i == 0 ? "" : i + 1 == kinds.size() ? ", or " : ", ") + kinds[i].text();
  return text;
}

std::string neighbours_of(const std::string& name, const topologies::Cluster& cluster) {
  std::vector<std::string> neighbours;
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
    const auto& to = cluster.node(cluster.link(link).to).name;
    if (cluster.node(cluster.link(link).from).name == name &&
        std::find(neighbours.begin(), neighbours.end(), to) == neighbours.end())
      neighbours.push_back(to);
  }
  std::string text = "a neighbour of " + name + ", such as ";
  for (std::size_t i = 0; i < std::min(neighbours.size(), most_named); ++i)
    text += (i == 0 ? "" : ", ") + neighbours[i];
  return neighbours.empty() ? "a node that links lead from" : text;
}

}  // namespace

std::string expected_places(const program::Perturbation& perturbation, const topologies::Cluster& cluster) {
  if (const auto* slow = std::get_if<program::SlowChip>(&perturbation))
    return nodes_like(program::chip_name(slow->chip), cluster);
  if (const auto* link = std::get_if<program::DegradedLink>(&perturbation)) {
    for (const auto* end : {&link->from, &link->to}) {
      if (!is_there(*end, cluster)) return nodes_like(*end, cluster);
    }
    return neighbours_of(link->from, cluster);
  }
  if (const auto* node = std::get_if<program::DegradedNode>(&perturbation)) return nodes_like(node->name, cluster);
  return "no more than that";
}

}  // namespace lockstep::preparation
