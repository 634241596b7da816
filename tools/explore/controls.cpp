#include "tools/explore/controls.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "sim/core/yaml_text.hpp"
#include "topologies/chips/chip.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::explore {
namespace {

constexpr std::int64_t most_value = 1'000'000'000'000;
constexpr std::array<const char*, 6> axes{"tensor", "pipeline", "context", "expert", "fsdp", "data"};

[[noreturn]] void refuse(const std::string& key, const std::string& what, const std::string& expected) {
  throw ConfigError({{{"change", 0, 0}, key, what, expected}});
}

std::int64_t degree_of(const Degrees& degrees, const std::string& axis) {
  const auto found = degrees.find(axis);
  return found == degrees.end() ? 1 : found->second;
}

/// The axis that takes the chips which the others leave.
std::string rest_axis(const Degrees& degrees) {
  return degree_of(degrees, "data") > 1 || degree_of(degrees, "fsdp") == 1 ? "data" : "fsdp";
}

Json number(const std::string& key, const std::string& label, std::int64_t value, std::int64_t least = 1) {
  return {{"key", key}, {"label", label}, {"kind", "number"}, {"value", value}, {"least", least}};
}

Json choice(const std::string& key, const std::string& label, const std::string& value,
            std::vector<std::string> choices) {
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) choices.insert(choices.begin(), value);
  return {{"key", key}, {"label", label}, {"kind", "choice"}, {"value", value}, {"choices", choices}};
}

/// A scalar as it is written; of a map or list, its line.
std::string written(const YamlView& view, const std::string& missing) {
  if (!view.exists()) return missing;
  return view.is_scalar() ? view.text() : in_one_line(view);
}

YamlView inside(const YamlView& root, const std::string& block, const std::string& key) {
  const auto view = root[block];
  return view.is_map() ? view[key] : YamlView();
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const workloads::Schedule& schedule : workloads::schedules()) names.emplace_back(schedule.name);
  return names;
}

Json machine_controls(const scenario::Scenario& scenario, const YamlView& root) {
  Json list = Json::array();
  const auto& cluster = scenario.cluster;
  const auto catalog = scenario::data_root() / "topologies" / "catalog";
  if (const auto* torus = cluster.torus()) {
    list.push_back({{"key", "shape"},
                    {"label", "chips of a slice"},
                    {"kind", "text"},
                    {"value", topologies::by_axis(torus->shape)}});
    return list;
  }
  const auto node = root["cluster"].is_map() ? root["cluster"]["node"] : YamlView();
  const bool graph = inside(root, "cluster", "graph").exists(), groups = inside(root, "cluster", "groups").exists();
  if (!graph && !groups) {
    list.push_back(number("nodes", "nodes", cluster.units));
    if (!node.is_map())
      list.push_back(choice("node", "kind of node", cluster.node()->name, topologies::node_names(catalog)));
  }
  if (cluster.units > 1 && !graph)
    list.push_back(choice("fabric", "network", cluster.fabric.name, topologies::fabric_names(catalog)));
  return list;
}

Json split_controls(const scenario::Scenario& scenario, const Degrees& degrees) {
  Json list = Json::array();
  const auto rest = rest_axis(degrees);
  for (const char* axis : axes) {
    if (axis == rest || (std::string(axis) == "expert" && !scenario.model.experts)) continue;
    list.push_back(number(axis, axis, degree_of(degrees, axis)));
  }
  list.push_back({{"key", rest}, {"label", rest}, {"kind", "rest"}, {"value", degree_of(degrees, rest)}});
  const bool copies = degree_of(degrees, "data") * degree_of(degrees, "context") * degree_of(degrees, "expert") > 1;
  if (copies && scenario.parallel.zero_of.empty())
    list.push_back(choice("zero", "ZeRO stage", std::to_string(scenario.parallel.zero), {"0", "1", "2", "3"}));
  return list;
}

Json step_controls(const scenario::Scenario& scenario, const Degrees& degrees, const YamlView& root) {
  Json list = Json::array();
  list.push_back(number("sequences", "sequences a step", scenario.batch.sequences));
  if (!scenario.replay) list.push_back(number("sequence_length", "tokens a sequence", scenario.batch.sequence_length));
  list.push_back(number("microbatches", "microbatches", scenario.batch.microbatches));
  if (degree_of(degrees, "pipeline") > 1 && scenario.pipeline.file.empty())
    list.push_back(choice("schedule", "pipeline schedule", scenario.pipeline.schedule, schedule_names()));
  if (scenario.replay) return list;
  const auto recompute = inside(root, "training", "recompute");
  list.push_back(choice("recompute", "recomputation", recompute.is_map() ? "as written" : written(recompute, "none"),
                        {"none", "selective", "full"}));
  std::vector<std::string> precisions;
  for (const auto& [precision, peak] : scenario.cluster.chip().peak) precisions.emplace_back(name(precision));
  list.push_back(choice("precision", "precision", std::string(name(scenario.training.precision)), precisions));
  list.push_back(choice("model_of_time", "rates", std::string(name(scenario.time_model)), {"calibrated", "ideal"}));
  return list;
}

constexpr std::int64_t most_chips = 10'000'000;

/// Sizes such as 4x4x8; their product is at most most_chips.
std::int64_t chips_of_shape(const std::string& shape) {
  std::int64_t chips = 1;
  std::istringstream text(shape);
  for (std::string size; std::getline(text, size, 'x');) {
    const bool digits = !size.empty() && size.size() <= 7 &&
                        std::all_of(size.begin(), size.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || size == "0") refuse("shape", "'" + shape + "' is not a shape", "sizes such as 4x4x8");
    chips *= std::stoll(size);
    if (chips > most_chips)
      refuse("shape", "'" + shape + "' has more than " + std::to_string(most_chips) + " chips", "a smaller slice");
  }
  return chips;
}

/// Chips of the changed cluster; none if these controls do not change it.
std::optional<std::int64_t> chips_of(const Json& changes, const scenario::Scenario& scenario) {
  const auto& cluster = scenario.cluster;
  if (changes.contains("shape"))
    return static_cast<std::int64_t>(cluster.units) * chips_of_shape(changes["shape"].get<std::string>());
  if (!changes.contains("node") && !changes.contains("nodes")) return std::nullopt;
  const auto nodes = changes.contains("nodes") ? changes["nodes"].get<std::int64_t>() : cluster.units;
  std::int64_t chips_of_node = cluster.node()->chips;
  if (changes.contains("node")) {
    Problems problems;
    chips_of_node = topologies::load_node(scenario::data_root() / "topologies" / "catalog",
                                          changes["node"].get<std::string>(), problems)
                        .chips;
    problems.throw_if_any();
  }
  if (nodes > most_chips / chips_of_node)
    refuse("nodes", std::to_string(nodes) + " nodes have more than " + std::to_string(most_chips) + " chips",
           "fewer nodes");
  return nodes * chips_of_node;
}

void add_cluster(const Json& changes, const scenario::Scenario& scenario, const YamlView& root,
                 std::vector<scenario::KeyOverride>& overrides) {
  const auto given = root["cluster"];
  if (changes.contains("shape")) {
    std::string list = changes["shape"].get<std::string>();
    if (given.is_map()) {
      std::replace(list.begin(), list.end(), 'x', ',');
      overrides.push_back({"cluster.shape", "[" + list + "]"});
    } else {
      const auto pods = scenario.cluster.units > 1 ? std::to_string(scenario.cluster.units) + "x" : "";
      overrides.push_back({"cluster", scenario.cluster.chip().name + ":" + pods + list});
    }
  }
  if (!changes.contains("nodes") && !changes.contains("node") && !changes.contains("fabric")) return;
  if (!given.is_map()) {
    const auto node = changes.contains("node") ? changes["node"].get<std::string>() : scenario.cluster.node()->name;
    overrides.push_back(
        {"cluster", "{node: " + in_one_line(node) + ", nodes: " + std::to_string(scenario.cluster.units) + "}"});
  } else if (changes.contains("node")) {
    overrides.push_back({"cluster.node", in_one_line(changes["node"].get<std::string>())});
  }
  if (changes.contains("nodes"))
    overrides.push_back({"cluster.nodes", std::to_string(changes["nodes"].get<std::int64_t>())});
  if (changes.contains("fabric"))
    overrides.push_back({"cluster.fabric", in_one_line(changes["fabric"].get<std::string>())});
}

/// Another schedule keeps those of the pipeline's keys that it takes.
void add_schedule(const Json& changes, const YamlView& root, std::vector<scenario::KeyOverride>& overrides) {
  constexpr const char* usual_slices = "4";
  if (!changes.contains("schedule")) return;
  const auto name = changes["schedule"].get<std::string>();
  const auto& schedule = *workloads::find_schedule(name);
  const auto given = root["pipeline"];
  const std::map<std::string, bool> taken{{"schedule", false},
                                          {"placement", false},
                                          {"chunks", schedule.takes_chunks()},
                                          {"group", schedule.takes_group},
                                          {"slices", schedule.takes_slices},
                                          {"slice_lengths", schedule.takes_slices && !schedule.shares_attention},
                                          {"memory_limit", schedule.chooses_by_time}};
  std::string text = "{schedule: " + in_one_line(name);
  for (const auto& key : given.is_map() ? given.keys() : std::vector<std::string>()) {
    const auto rule = taken.find(key);
    if (rule == taken.end() || rule->second) text += ", " + key + ": " + in_one_line(given[key]);
  }
  if (schedule.takes_slices && !(given.is_map() && given["slices"].exists()))
    text += std::string(", slices: ") + usual_slices;
  overrides.push_back({"pipeline", text + "}"});
}

void add_degrees(const Json& changes, const scenario::Scenario& scenario, const Degrees& degrees,
                 std::vector<scenario::KeyOverride>& overrides) {
  const auto chips = chips_of(changes, scenario);
  const bool split = std::any_of(axes.begin(), axes.end(), [&](const char* axis) { return changes.contains(axis); });
  if (!chips && !split) return;
  const auto rest = rest_axis(degrees);
  const auto all = chips.value_or(scenario.chips());
  std::string changed = chips ? "nodes" : "";
  std::int64_t others = 1;
  for (const char* axis : axes) {
    if (axis == rest) continue;
    const auto size = changes.contains(axis) ? changes[axis].get<std::int64_t>() : degree_of(degrees, axis);
    if (changes.contains(axis)) changed = axis;
    if (changes.contains(axis) || size > 1)
      overrides.push_back({std::string("parallel.") + axis, std::to_string(size)});
    if (size > all / others)
      refuse(changed, "the degrees make more ranks than the " + std::to_string(all) + " chips", "smaller degrees");
    others *= size;
  }
  if (all % others != 0)
    refuse(changed,
           "the degrees make " + std::to_string(others) + " ranks, which do not divide the " + std::to_string(all) +
               " chips",
           "degrees whose product divides the chips");
  overrides.push_back({"parallel." + rest, std::to_string(all / others)});
  overrides.push_back({"mesh", "{}"});
}

/// A change must be one of the page's controls for this scenario, of its kind, and one of its choices.
void check(const Json& changes, const Json& groups) {
  for (const auto& [key, value] : changes.items()) {
    const Json* control = nullptr;
    for (const auto& group : groups) {
      for (const auto& one : group["controls"]) {
        if (one["key"] == key) control = &one;
      }
    }
    if (control == nullptr || (*control)["kind"] == "rest")
      refuse(key, "there is no such control for this scenario", "one of the page's");
    const std::string kind = (*control)["kind"];
    if (kind == "number") {
      const bool whole = value.is_number_integer() && value <= Json(most_value) && value >= (*control)["least"];
      if (!whole) refuse(key, value.dump() + " is no whole number from " + (*control)["least"].dump(), "such a number");
    } else if (!value.is_string()) {
      refuse(key, "is of another type", "text");
    } else if (kind == "choice" && std::find((*control)["choices"].begin(), (*control)["choices"].end(), value) ==
                                       (*control)["choices"].end()) {
      refuse(key, "'" + value.get<std::string>() + "' is not one of the choices", "one of the list");
    }
  }
}

}  // namespace

Json controls_of(const scenario::Scenario& scenario, const Degrees& degrees, const YamlView& root) {
  Json groups = Json::array();
  if (!scenario.replay) {
    const auto model = root["model"];
    if (model.is_scalar())
      groups.push_back({{"label", "Model"},
                        {"controls",
                         {choice("model", "model", model.text(),
                                 workloads::model_names(scenario::data_root() / "workloads" / "catalog"))}}});
  }
  groups.push_back({{"label", "Machine"}, {"controls", machine_controls(scenario, root)}});
  if (!scenario.replay) groups.push_back({{"label", "Split"}, {"controls", split_controls(scenario, degrees)}});
  groups.push_back({{"label", "Step"}, {"controls", step_controls(scenario, degrees, root)}});
  return groups;
}

std::vector<scenario::KeyOverride> overrides_of(const Json& changes, const scenario::Scenario& scenario,
                                                const Degrees& degrees, const YamlView& root) {
  static const std::map<std::string, std::string> plain{{"model", "model"},
                                                        {"zero", "parallel.zero"},
                                                        {"sequences", "batch.sequences"},
                                                        {"sequence_length", "batch.sequence_length"},
                                                        {"microbatches", "batch.microbatches"},
                                                        {"recompute", "training.recompute"},
                                                        {"precision", "training.precision"},
                                                        {"model_of_time", "model_of_time"}};
  check(changes, controls_of(scenario, degrees, root));
  std::vector<scenario::KeyOverride> overrides;
  for (const auto& [key, value] : changes.items()) {
    const auto place = plain.find(key);
    if (place == plain.end() || value == "as written") continue;
    overrides.push_back({place->second, value.is_string() ? in_one_line(value.get<std::string>())
                                                          : std::to_string(value.get<std::int64_t>())});
  }
  add_cluster(changes, scenario, root, overrides);
  add_schedule(changes, root, overrides);
  add_degrees(changes, scenario, degrees, overrides);
  return overrides;
}

}  // namespace lockstep::explore
