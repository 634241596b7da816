#include <algorithm>
#include <map>

#include "topologies/graph/name_numbers_private.hpp"
#include "topologies/graph/slurm_private.hpp"

namespace lockstep::topologies {
namespace {

/// Uplinks of the switches of a tree, from the leaves up.
class Tree {
 public:
  Tree(const std::vector<SlurmSwitch>& switches, NetworkBuilder& builder) : switches_(switches) {
    for (const SlurmSwitch& one : switches) by_name_.emplace(one.name, by_name_.size());
    parents_.resize(switches.size());
    widths_.resize(switches.size());
    for (std::size_t i = 0; i < switches.size(); ++i) {
      std::vector<std::string> absent;
      for (const std::string& child : switches[i].switches) {
        if (const auto found = by_name_.find(child); found != by_name_.end()) {
          parents_[found->second].push_back(i);
        } else {
          absent.push_back("'" + child + "'");
        }
      }
      if (!absent.empty())
        builder.problem(
            switches[i].place, "Switches",
            some_of(absent) + (absent.size() == 1 ? " is not a switch" : " are not switches") + " of this file",
            "switches with a line of their own; the file may be cut off");
    }
  }

  [[nodiscard]] std::size_t index(const std::string& name) const { return by_name_.find(name)->second; }

  /// Switches in an order in which children come before their parents; fewer than all if the tree bites its tail.
  [[nodiscard]] std::vector<std::size_t> from_leaves() const {
    std::vector<std::size_t> open(switches_.size()), order;
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      open[i] = switches_[i].switches.size();
      if (open[i] == 0) order.push_back(i);
    }
    for (std::size_t next = 0; next < order.size(); ++next) {
      for (const std::size_t parent : parents_[order[next]]) {
        if (--open[parent] == 0) order.push_back(parent);
      }
    }
    return order;
  }

  /// The cables from a switch to each of its parents, once those below it are known.
  int uplinks(std::size_t i) {
    std::int64_t below = std::ssize(switches_[i].hosts);
    for (const std::string& child : switches_[i].switches) below += widths_[index(child)];
    const auto parents = std::max<std::int64_t>(std::ssize(parents_[i]), 1);
    widths_[i] =
        std::min<std::int64_t>(std::max<std::int64_t>((below + parents - 1) / parents, 1), most_parallel_cables);
    return static_cast<int>(widths_[i]);
  }

  [[nodiscard]] const std::vector<std::size_t>& parents(std::size_t i) const { return parents_[i]; }

 private:
  const std::vector<SlurmSwitch>& switches_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<std::vector<std::size_t>> parents_;
  std::vector<std::int64_t> widths_;  ///< cables to one parent
};

/// Hosts of all switches with an adapter for each switch that they are below.
void add_hosts(const std::vector<SlurmSwitch>& switches, const std::vector<SwitchId>& ids, NetworkBuilder& builder) {
  std::vector<std::string> below_several;
  std::map<std::string, HostId> hosts;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    for (const std::string& name : switches[i].hosts) {
      if (builder.gives_up()) return;
      auto found = hosts.find(name);
      if (found == hosts.end()) {
        const auto id = builder.add_host(name, switches[i].place);
        if (!id) continue;
        found = hosts.emplace(name, *id).first;
      } else if (builder.graph().hosts[found->second].adapters.size() == 1) {
        below_several.push_back(name);
      }
      builder.connect({builder.add_adapter(found->second), SwitchEnd{ids[i]}, 1, std::nullopt, std::nullopt, ""},
                      switches[i].place);
    }
  }
  if (!below_several.empty()) {
    builder.note(counted(below_several.size(), "host") + " below more than one switch, such as " +
                 some_of(below_several) + ": an adapter for each is assumed.");
  }
}

}  // namespace

std::vector<std::string> slurm_names(std::string_view list, TextPlace place, const std::string& key,
                                     NetworkBuilder& builder) {
  auto names = builder.expand(list, place, key);
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) builder.problem(place, key, "'" + *twice + "' appears twice", "each name once");
  return names;
}

void check_slurm_end(std::string_view text, const std::vector<SlurmSwitch>& switches, NetworkBuilder& builder) {
  if (switches.empty() || switches.back().hosts.empty()) return;
  const std::string& last = switches.back().hosts.back();
  if (!text.ends_with(last)) return;
  const std::string shape = shape_of(last);
  for (const SlurmSwitch& one : switches) {
    for (const std::string& host : one.hosts) {
      if (&host != &last && shape_of(host) == shape) return;
    }
  }
  builder.problem(switches.back().place, "", "the file ends in '" + last + "' without the end of a line",
                  "a line's end after the last name; the file may be cut off");
}

void add_slurm_tree(const std::vector<SlurmSwitch>& switches, NetworkBuilder& builder) {
  std::vector<SwitchId> ids;
  for (const SlurmSwitch& one : switches) {
    const auto id = builder.add_switch(one.name, one.place);
    if (id) ids.push_back(*id);
  }
  Tree tree(switches, builder);
  const bool lacks_switches = !builder.problems().empty();
  for (const SlurmSwitch& one : switches) {
    const bool is_cut_off = lacks_switches && &one == &switches.back();  // told as the switches that are missing
    if (one.switches.empty() && one.hosts.empty() && !is_cut_off)
      builder.problem(one.place, "", "nothing is below the switch '" + one.name + "'", "Nodes or Switches");
  }
  if (!builder.problems().empty()) return;
  const auto order = tree.from_leaves();
  if (order.size() < switches.size()) {
    std::vector<char> done(switches.size());
    for (const std::size_t i : order) done[i] = 1;
    const auto stuck = static_cast<std::size_t>(std::find(done.begin(), done.end(), 0) - done.begin());
    return builder.problem(switches[stuck].place, "", "the switch '" + switches[stuck].name + "' is above itself",
                           "a tree");
  }
  add_hosts(switches, ids, builder);
  for (const std::size_t i : order) {
    const int uplinks = tree.uplinks(i);
    for (const std::size_t parent : tree.parents(i)) {
      builder.connect({SwitchEnd{ids[i]}, SwitchEnd{ids[parent]}, uplinks, std::nullopt, std::nullopt, ""},
                      switches[i].place);
    }
  }
  builder.note(
      "Slurm's file gives the shape alone. Each host has one adapter for each switch above it, and each switch as many "
      "cables up as down: no over-subscription is assumed. The file does not say how fast the cables are.");
}

void add_slurm_blocks(std::vector<SlurmSwitch> blocks, NetworkBuilder& builder) {
  const bool several = blocks.size() > 1;
  if (several) {
    SlurmSwitch top{"above-all-blocks", {}, {}, {}};
    for (const SlurmSwitch& block : blocks) top.switches.push_back(block.name);
    blocks.push_back(std::move(top));
  }
  add_slurm_tree(blocks, builder);
  if (several)
    builder.note("Slurm does not say how blocks are joined: a switch above all of them is assumed, above-all-blocks.");
}

}  // namespace lockstep::topologies
