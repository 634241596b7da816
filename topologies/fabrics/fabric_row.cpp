#include <functional>

#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

template <class... Kinds>
std::vector<FabricKind> one_of_each(const std::variant<Kinds...>&) {
  return {Kinds{}...};
}

bool described_by_keys(const FabricKind& kind) { return !std::holds_alternative<GivenNetwork>(kind); }

}  // namespace

std::vector<FabricKind> fabric_kinds() {
  std::vector<FabricKind> kinds = one_of_each(FabricKind{});
  std::erase_if(kinds, std::not_fn(described_by_keys));
  return kinds;
}

std::string_view name(const FabricKind& kind) {
  return std::visit([]<class Kind>(const Kind&) { return Kind::row().name(); }, kind);
}

std::string_view about(const FabricKind& kind) {
  return std::visit([]<class Kind>(const Kind&) { return Kind::row().about(); }, kind);
}

std::vector<ClusterProblem> limits(const FabricSpec& spec) {
  return std::visit([&]<class Kind>(const Kind& keys) { return Kind::row().limits(spec, keys); }, spec.kind);
}

std::variant<int, ClusterProblem> top_switches(const FabricSpec& spec, const EndCount& ends) {
  return std::visit([&]<class Kind>(const Kind& keys) { return Kind::row().tops(spec, keys, ends); }, spec.kind);
}

std::unique_ptr<const SwitchNetwork> build_network(const FabricSpec& spec, const NetworkEnds& ends,
                                                   const std::vector<int>& prefix, Cluster::Graph& graph) {
  // A pair that keeps to one path keeps to one port.
  if (ends.ports > 1 && spec.routing == FabricRouting::ecmp)
    return build_network(spec, port_by_port(ends), prefix, graph);
  return std::visit([&]<class Kind>(const Kind& keys) { return Kind::row().build(spec, keys, ends, prefix, graph); },
                    spec.kind);
}

void read_count(const YamlView& view, int least, int& count) {
  if (view.exists()) count = static_cast<int>(view.integer(least, most_ports));
}

void check_count(const std::string& key, int count, const std::string& things, int most,
                 std::vector<ClusterProblem>& problems) {
  if (count < 1 || count > most)
    problems.push_back({key, std::to_string(count) + ' ' + things, "1 to " + std::to_string(most)});
}

std::vector<ClusterProblem> why_no_tiers(const FabricSpec& spec) {
  if (spec.oversubscription.empty()) return {};
  return {{"oversubscription", "a " + std::string(name(spec.kind)) + " has no tiers", "none, or a fat tree"}};
}

}  // namespace lockstep::topologies
