#pragma once
/// What the readers of a scenario's parts share.
#include <filesystem>
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep {

/// Whether the view is a single value, not a list, a map or null; a problem if not.
inline bool expect_value(const YamlView& view, const std::string& expected) {
  if (!view.is_scalar()) view.problem(view.is_list() ? "is a list" : view.is_map() ? "is a map" : "is null", expected);
  return view.is_scalar();
}

inline std::filesystem::path topology_catalog() { return data_root() / "topologies" / "catalog"; }

}  // namespace lockstep
