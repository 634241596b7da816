// The traffic of others on links of the cluster, which leaves a part of their rates.
#include "sim/preparation/background.hpp"

#include <algorithm>
#include <string_view>

#include "sim/core/errors.hpp"
#include "sim/core/percent_text.hpp"

namespace lockstep::preparation {
namespace {

/// Whether a pattern, in which * stands for any text, is a whole name.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0, in_name = 0, star = std::string_view::npos, after_star = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after_star = in_name;
    } else if (at < pattern.size() && pattern[at] == name[in_name]) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++after_star;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(at), pattern.end(),
                     [](char letter) { return letter == '*'; });
}

std::vector<topologies::LinkId> links_called(const topologies::Cluster& cluster, std::string_view pattern) {
  const bool of_links = pattern.find('>') != std::string_view::npos;
  std::vector<bool> is_meant;  // nodes
  if (!of_links) {
    for (topologies::NodeId node = 0; node < cluster.nodes(); ++node)
      is_meant.push_back(matches(pattern, cluster.node(node).name));
  }
  std::vector<topologies::LinkId> links;
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
    const auto& ends = cluster.link(link);
    if (of_links ? matches(pattern, cluster.link_name(link))
                 : is_meant[position_of(ends.from)] || is_meant[position_of(ends.to)])
      links.push_back(link);
  }
  return links;
}

}  // namespace

void share_links(const scenario::Scenario& scenario, topologies::Cluster& cluster) {
  constexpr double most = 1 - 1e-6;
  const auto& loads = scenario.cluster.background;
  if (loads.empty()) return;
  topologies::BackgroundShares shares(cluster.links(), 0.0);
  Problems problems;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto key = "cluster.background[" + std::to_string(i) + "]";
    const auto links = links_called(cluster, loads[i].links);
    if (links.empty()) {
      problems.add({scenario.where(key), key, "the cluster has no link called '" + loads[i].links + "'",
                    "a name such as '" + cluster.link_name(cluster.links() - 1) + "', in which * stands for any text"});
    }
    topologies::LinkId full = -1;
    for (const auto link : links) {
      shares[link] += loads[i].load;
      if (shares[link] > most && full < 0) full = link;
    }
    if (full >= 0) {
      problems.add({scenario.where(key), key,
                    "others take " + percent_text(shares[full]) + " of " + cluster.link_name(full) + " in all",
                    "less than 100 %"});
    }
  }
  problems.throw_if_any();
  cluster.share_with(std::move(shares));
}

}  // namespace lockstep::preparation
