#pragma once
/// The table of kinds of fabric. Each kind of `FabricKind` has one row, which its own file defines; a row that lacks a
/// part is an abstract class and does not compile. All else asks the row and knows no kind by name.
#include "topologies/fabrics/switch_network_private.hpp"

namespace lockstep::topologies {

template <class Kind>
class FabricRow {
 public:
  virtual ~FabricRow() = default;

  /// The word for it in YAML.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Its line in the table of docs/models/network.md.
  [[nodiscard]] virtual std::string_view about() const = 0;
  /// Reads the keys that only this kind has; absent ones stay as they are.
  virtual void read(const YamlView& view, Kind& keys) const = 0;
  /// Wrong values, whatever the number of ends; the keys are below the fabric: "radix".
  [[nodiscard]] virtual std::vector<ClusterProblem> limits(const FabricSpec& spec, const Kind& keys) const = 0;
  /// The number of top switches over the ends, or why there is no such network.
  [[nodiscard]] virtual std::variant<int, ClusterProblem> tops(const FabricSpec& spec, const Kind& keys,
                                                               const EndCount& ends) const = 0;
  /// Adds the switches and links of a sound network to the graph; `prefix` leads the names of its switches.
  [[nodiscard]] virtual std::unique_ptr<const SwitchNetwork> build(const FabricSpec& spec, const Kind& keys,
                                                                   const NetworkEnds& ends,
                                                                   const std::vector<int>& prefix,
                                                                   Cluster::Graph& graph) const = 0;
};

/// The parts of a fabric's row, applied to the fabric.
[[nodiscard]] std::vector<ClusterProblem> limits(const FabricSpec& spec);
[[nodiscard]] std::variant<int, ClusterProblem> top_switches(const FabricSpec& spec, const EndCount& ends);

constexpr int most_ports = 4096;  // refused before memory is spent on them
constexpr int most_tiers = 5;
constexpr int most_flows = 64;  // of a connection: channels x queue pairs
/// The ports of the switches of a tier, leaves being tier 0.
[[nodiscard]] int ports_of_switch(const FabricSpec& spec, std::size_t tier);
/// Reads a number of ports, links or switches, if the key is given.
void read_count(const YamlView& view, int least, int& count);
/// Adds a problem unless the count is from 1 to `most`.
void check_count(const std::string& key, int count, const std::string& things, int most,
                 std::vector<ClusterProblem>& problems);
/// A problem if the fabric, whose kind has no tiers, is oversubscribed.
[[nodiscard]] std::vector<ClusterProblem> why_no_tiers(const FabricSpec& spec);

}  // namespace lockstep::topologies
