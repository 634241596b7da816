#pragma once
/// What both files of Slurm's topology say: a tree of switches with hosts at its leaves, or blocks of hosts.
#include <string>
#include <string_view>
#include <vector>

#include "topologies/graph/network_builder_private.hpp"

namespace lockstep::topologies {

struct SlurmSwitch {
  std::string name;
  TextPlace place;
  std::vector<std::string> switches, hosts;  ///< below it
};

/// The names of a host list; a problem and none where it is malformed.
[[nodiscard]] std::vector<std::string> slurm_names(std::string_view list, TextPlace place, const std::string& key,
                                                   NetworkBuilder& builder);

/// A problem where the text ends in a host's name, not in the end of a line, and no other host has a name of that
/// shape: "lo" where "login1" was cut off.
void check_slurm_end(std::string_view text, const std::vector<SlurmSwitch>& switches, NetworkBuilder& builder);

/// Adds a tree to the graph. Slurm knows neither rates nor counts of cables, so a switch gets as many uplinks as it has
/// cables below, shared among its parents.
void add_slurm_tree(const std::vector<SlurmSwitch>& switches, NetworkBuilder& builder);
/// Adds blocks: a switch for each, and one above them, since Slurm does not say how they are joined.
void add_slurm_blocks(std::vector<SlurmSwitch> blocks, NetworkBuilder& builder);

}  // namespace lockstep::topologies
