#include "sim/core/known_word.hpp"
#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
std::string catalog_name(const std::string& word, const std::vector<std::string>& names, const std::string& other) {
  if (const auto hint = did_you_mean(word, names); !hint.empty()) {
    return "a name from the catalog" + (other.empty() ? "" : " or " + other) + "; " + hint;
  }
  constexpr std::size_t most_named = 20;
  const auto near = names_with(word, names, most_named);
  if (near.empty() && names.size() > most_named)
    return "a name that `lockstep list` shows" + (other.empty() ? "" : ", or " + other);
  std::string list = "one of";
  const auto& shown = near.empty() ? names : near;
  for (const auto& name : shown) list += (name == shown.front() ? " " : ", ") + name;
  return list + (other.empty() ? "" : ", or " + other);
}

topologies::Chip chip_named(const std::string& name, const Location& where, const std::string& key,
                            Problems& problems) {
  const auto catalog = topology_catalog();
  const auto names = topologies::chip_names(catalog);
  if (const auto entry = known_word(name, names); !entry.empty())
    return topologies::load_chip(catalog, entry, problems);
  problems.add({where, key, "chip '" + name + "' is not in the catalog", catalog_name(name, names)});
  return {};
}

}  // namespace lockstep::scenario
