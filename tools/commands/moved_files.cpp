#include "tools/commands/moved_files.hpp"

#include <filesystem>

#include "sim/core/yaml_text.hpp"

namespace lockstep::commands {
namespace {

/// A file that a scenario names is seen from its folder: the same file, seen from the target's.
std::string moved(const std::string& named, const std::filesystem::path& scenario,
                  const std::filesystem::path& target) {
  const auto folder_of = [](const std::filesystem::path& file) {
    return std::filesystem::absolute(file).parent_path();
  };
  return std::filesystem::proximate(folder_of(scenario) / named, folder_of(target)).generic_string();
}

}  // namespace

void move_files(YamlView& root, const scenario::Scenario& scenario, const GivenScenario& given,
                const std::string& target) {
  const std::string file = given.is_file() ? given.name() : "./here";  // what is no file is seen from here
  const auto move = [&](const YamlView& view, const std::string& path) {
    if (view.is_scalar()) root = root.with_override(path, in_one_line(moved(view.text(), file, target)));
  };
  const auto model = root["model"];
  if (model.is_scalar() && (model.text().ends_with(".json") || model.text().find('/') != std::string::npos))
    move(model, "model");
  if (scenario.cluster.order.kind == topologies::RankOrder::Kind::listed)
    move(root["cluster"]["order"], "cluster.order");
  if (const auto cluster = root["cluster"]; cluster.is_map()) {
    const auto node = cluster["node"];
    if (node.is_scalar() && (node.text().ends_with(".yaml") || node.text().ends_with(".yml")))
      move(node, "cluster.node");
    move(cluster["graph"], "cluster.graph");
  }
}

}  // namespace lockstep::commands
