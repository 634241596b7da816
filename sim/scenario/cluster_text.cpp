#include <algorithm>

#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
std::string catalog_name(const std::string& word, const std::vector<std::string>& names, const std::string& other) {
  if (const auto hint = did_you_mean(word, names); !hint.empty()) {
    return "a name from the catalog" + (other.empty() ? "" : " or " + other) + "; " + hint;
  }
  std::string list = "one of";
  for (const auto& name : names) list += (name == names.front() ? " " : ", ") + name;
  return list + (other.empty() ? "" : ", or " + other);
}

topologies::Chip chip_named(const std::string& name, const Location& where, const std::string& key,
                            Problems& problems) {
  const auto catalog = topology_catalog();
  const auto names = topologies::chip_names(catalog);
  if (std::find(names.begin(), names.end(), name) != names.end()) return topologies::load_chip(catalog, name, problems);
  problems.add({where, key, "chip '" + name + "' is not in the catalog", catalog_name(name, names)});
  return {};
}

}  // namespace lockstep::scenario
