#pragma once
/// Helpers that the readers of a scenario's parts share.
#include <filesystem>
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::scenario {

/// Whether the view is a single value, not a list, a map or null; a problem if not.
inline bool expect_value(const YamlView& view, const std::string& expected) {
  if (!view.is_scalar()) view.problem(view.is_list() ? "is a list" : view.is_map() ? "is a map" : "is null", expected);
  return view.is_scalar();
}

/// Reads keys and notes where they stand, for problems that only show up later.
class KeyReader {
 public:
  explicit KeyReader(std::map<std::string, Location>& places) : places_(places) {}

  YamlView note(YamlView view) {
    if (view.exists()) places_[view.path()] = view.where();
    return view;
  }
  YamlView optional(const YamlView& parent, std::string_view key) { return note(parent[key]); }
  YamlView require(const YamlView& parent, std::string_view key, std::string_view expected) {
    return note(parent.require(key, expected));
  }
  /// Leaves `value` as it is where the key is absent.
  void flag(const YamlView& parent, std::string_view key, bool& value) {
    const auto view = optional(parent, key);
    if (view.exists()) value = view.boolean();
  }

 private:
  std::map<std::string, Location>& places_;
};

/// The map `pipeline`, if it exists; an order's file is seen from `folder`.
void read_pipeline(const YamlView& view, const std::filesystem::path& folder, KeyReader& keys, Scenario& scenario);
/// The keys of the map `training`.
void read_training(const YamlView& view, KeyReader& keys, Scenario& scenario);
/// The map `local_updates` of `training`, if it exists; the batch, the axes and the plan are read.
void read_local_updates(const YamlView& view, KeyReader& keys, Scenario& scenario);
/// The map `communication`, if it exists.
void read_communication(const YamlView& view, KeyReader& keys, Scenario& scenario);

/// The keys of the map `batch` about lengths of documents, once its sizes are read; the file is seen from `folder`.
void read_lengths(const YamlView& batch, const std::filesystem::path& folder, KeyReader& keys, Scenario& scenario,
                  Problems& problems);

/// The map `routing`, if it exists; a file of loads is seen from `folder`.
void read_routing(const YamlView& view, const std::filesystem::path& folder, KeyReader& keys, Scenario& scenario,
                  Problems& problems);

/// The keys `graph`, `routing`, `nodes` and `placement` of a cluster whose node and fabric are read: the network
/// becomes that of the file, and the units those hosts.
void read_given_network(const YamlView& cluster, const std::filesystem::path& folder, topologies::ClusterSpec& spec,
                        Problems& problems);

/// The list `background` of a cluster.
[[nodiscard]] std::vector<topologies::BackgroundLoad> read_background(const YamlView& list);

[[nodiscard]] ReliabilitySpec read_reliability(const YamlView& view, KeyReader& keys);
/// The map `search`, if it exists; `own` is what the scenario itself computes again.
void read_search(const YamlView& view, KeyReader& keys, const workloads::Recompute& own, SearchSpec& search);

inline std::filesystem::path topology_catalog() { return data_root() / "topologies" / "catalog"; }

}  // namespace lockstep::scenario
