#include <algorithm>
#include <charconv>

#include "sim/scenario/scenario.hpp"

namespace lockstep {
namespace {

/// "16x20x28" as sizes; nothing if it is anything else.
std::vector<int> parse_shape(std::string_view text) {
  std::vector<int> shape;
  while (true) {
    int size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || size < 1 || text.front() == '0') return {};
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return shape;
    if (text.front() != 'x') return {};
    text.remove_prefix(1);
  }
}

}  // namespace

std::string catalog_name(const std::string& word, const std::vector<std::string>& names, const std::string& other) {
  if (const auto hint = did_you_mean(word, names); !hint.empty()) {
    return "a name of the catalog" + (other.empty() ? "" : " or " + other) + "; " + hint;
  }
  std::string list = "one of";
  for (const auto& name : names) list += (name == names.front() ? " " : ", ") + name;
  return list + (other.empty() ? "" : ", or " + other);
}

Chip chip_named(const std::string& name, const Location& where, const std::string& key, Problems& problems) {
  const auto catalog = data_root() / "topologies" / "catalog";
  const auto names = chip_names(catalog);
  if (std::find(names.begin(), names.end(), name) != names.end()) return load_chip(catalog, name, problems);
  problems.add({where, key, "chip '" + name + "' is not in the catalog", catalog_name(name, names)});
  return {};
}

void check_slice(const TorusSpec& spec, const Location& where, const std::string& key, Problems& problems) {
  const auto why = why_not_a_slice(spec);
  if (!why.empty())
    problems.add({where, key, why,
                  spec.chip.torus ? "a slice that the pod holds" : "a chip whose links form a torus, such as tpu-v5p"});
}

TorusSpec parse_cluster(std::string_view text, const Location& where, const std::string& key, Problems& problems) {
  TorusSpec spec;
  const auto before = problems.size();
  const auto colon = std::min(text.find(':'), text.size());
  spec.chip = chip_named(std::string(text.substr(0, colon)), where, key, problems);
  if (colon < text.size()) spec.shape = parse_shape(text.substr(colon + 1));
  if (spec.shape.empty()) {
    problems.add({where, key, "'" + std::string(text) + "' has " + (colon < text.size() ? "a bad" : "no") + " shape",
                  "CHIP:SHAPE such as tpu-v5p:16x20x28"});
  }
  if (problems.size() == before) check_slice(spec, where, key, problems);
  return spec;
}

}  // namespace lockstep
