#include "tools/commands/scenario_variants.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/core/errors.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"

namespace lockstep::commands {
namespace {

constexpr std::size_t most_scenarios = 64;  // columns that anybody reads

/// "1,[2,3],4" as three values: commas inside brackets and quotes belong to a value.
std::vector<std::string> values_in(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  return values;
}

/// "infiniband-ndr-rail, oversubscription: 4" for "{like: infiniband-ndr-rail, oversubscription: 4}".
std::string fabric_label(std::string fabric) {
  const std::string_view like = "{like: ";
  if (!fabric.starts_with(like) || !fabric.ends_with("}")) return fabric;
  fabric.pop_back();
  return fabric.substr(like.size());
}

/// The keys that put another fabric between the nodes of a scenario.
scenario::KeyOverride with_fabric(const Variant& variant, const std::string& fabric) {
  const auto scenario = load_scenario(variant.file, variant.overrides);
  const auto* node = scenario.cluster.node();
  if (node == nullptr || !scenario.cluster.groups.empty() || scenario.cluster.halls > 1) {
    throw ConfigError({{scenario.where("cluster"), "cluster", "has no single fabric that --fabrics could replace",
                        "nodes of one kind in one hall"}});
  }
  if (scenario.places.contains("cluster.node")) return {"cluster.fabric", fabric};
  return {"cluster",
          "{node: " + node->name + ", nodes: " + std::to_string(scenario.cluster.units) + ", fabric: " + fabric + "}"};
}

void refuse_too_many(std::size_t scenarios, const std::string& option) {
  if (scenarios <= most_scenarios) return;
  throw ConfigError({{{option, 0, 0},
                      "",
                      "these would be more than " + std::to_string(most_scenarios) + " scenarios",
                      "fewer values, or lockstep sweep"}});
}

std::vector<Variant> with_fabrics(const std::vector<Variant>& variants, const std::string& fabrics) {
  const auto values = values_in(fabrics);
  if (std::find(values.begin(), values.end(), "") != values.end()) {
    throw ConfigError({{{"--fabrics", 0, 0},
                        "",
                        "'" + fabrics + "' has an empty name",
                        "names of fabrics such as infiniband-ndr-rail,roce-400g"}});
  }
  refuse_too_many(variants.size() * values.size(), "--fabrics");
  std::vector<Variant> combined;
  for (const auto& variant : variants) {
    for (const auto& fabric : values) {
      combined.push_back(variant);
      combined.back().label = fabric_label(fabric);
      combined.back().overrides.push_back(with_fabric(variant, fabric));
    }
  }
  return combined;
}

}  // namespace

std::vector<Variant> variants_of(const VariedScenarios& given) {
  const auto common = parse_overrides(given.overrides);
  std::vector<Variant> variants;
  for (const auto& file : given.files) variants.push_back({file, "", common});
  if (!given.fabrics.empty()) variants = with_fabrics(variants, given.fabrics);
  for (const auto& text : given.varied) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw ConfigError({{{"--vary", 0, 0},
                          "",
                          "'" + text + "' has no " + (equals == 0 ? "key" : "values"),
                          "KEY=VALUE,VALUE,... such as batch.sequences=512,1024"}});
    }
    const auto key = text.substr(0, equals);
    const auto values = values_in(text.substr(equals + 1));
    if (std::find(values.begin(), values.end(), "") != values.end()) {
      throw ConfigError({{{"--vary", 0, 0},
                          "",
                          "'" + text + "' has an empty value",
                          "KEY=VALUE,VALUE,... such as batch.sequences=512,1024"}});
    }
    refuse_too_many(variants.size() * values.size(), "--vary");
    std::vector<Variant> combined;
    for (const auto& variant : variants) {
      for (const auto& value : values) {
        combined.push_back(variant);
        combined.back().label += (variant.label.empty() ? "" : " ") + key.substr(key.rfind('.') + 1) + "=" + value;
        combined.back().overrides.push_back({key, value});
      }
    }
    variants = std::move(combined);
  }
  return variants;
}

std::string variant_name(const Variant& variant, const std::vector<Variant>& all) {
  const auto stem = [](const Variant& of) { return std::filesystem::path(of.file).stem().string(); };
  const bool one_file =
      std::all_of(all.begin(), all.end(), [&](const Variant& other) { return other.file == variant.file; });
  const bool same_stem = std::any_of(all.begin(), all.end(), [&](const Variant& other) {
    return other.file != variant.file && stem(other) == stem(variant);
  });
  if (one_file && !variant.label.empty()) return variant.label;
  return (same_stem ? variant.file : stem(variant)) + (variant.label.empty() ? "" : " " + variant.label);
}

void add_varied_scenarios(Command& command, VariedScenarios& given, const std::string& more) {
  command.option("scenarios", given.files, "scenario files (YAML)" + more).required();
  command.option("--set", given.overrides, "replace a key of every scenario: a.b=c (may be repeated)").repeatable();
  command.option("--vary", given.varied, "simulate every scenario with each of these values: a.b=c,d (may be repeated)")
      .repeatable();
  command.option(
      "--fabrics", given.fabrics,
      "simulate every scenario with each of these fabrics between its nodes: names of the catalog, or blocks such as "
      "{like: infiniband-ndr-fat-tree, oversubscription: 4}, with commas");
}

}  // namespace lockstep::commands
