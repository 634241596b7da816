#pragma once
/// Networks for tests: the files of tests/data/networks and dumps that are made.
#include <string>
#include <string_view>
#include <vector>

#include "topologies/graph/read_network.hpp"

namespace lockstep::test {

/// The path of a file of tests/data/networks.
[[nodiscard]] std::string network_file(const std::string& name);
/// Reads such a file; a test that meets a problem ends with it.
[[nodiscard]] topologies::NetworkImport import_file(const std::string& name);
/// Reads a text as the file `net`; a test that meets a problem ends with it.
[[nodiscard]] topologies::NetworkImport import_text(std::string_view text);
/// The lines with which a text is refused; none if it is not.
[[nodiscard]] std::vector<std::string> refusals(std::string_view text);

/// "leaf1 2x spine 800 Gb/s": each cable of a graph with its ends by name, in the graph's order.
[[nodiscard]] std::vector<std::string> cables_of(const topologies::NetworkGraph& graph);

/// What ibnetdiscover prints of `leaves` leaves with `hosts` hosts of one adapter each and `spines` spines, `cables`
/// of them between each leaf and spine, at the speed 4xNDR. Every switch has an aggregation node.
[[nodiscard]] std::string leaf_spine_dump(int leaves, int hosts, int spines, int cables);

}  // namespace lockstep::test
