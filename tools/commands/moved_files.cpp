#include "tools/commands/moved_files.hpp"

#include <filesystem>

#include "sim/core/yaml_text.hpp"

namespace lockstep::commands {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return std::filesystem::absolute(file).parent_path();
}

/// A file that a scenario names is seen from its folder: the same file, seen from the target's, or by its whole path.
std::string moved(const std::string& named, const std::filesystem::path& folder, const std::string& target) {
  const auto file = folder / named;
  return (target.empty() ? file.lexically_normal() : std::filesystem::proximate(file, folder_of(target)))
      .generic_string();
}

}  // namespace

std::string lines_of(const YamlView& root, std::string_view left_out) {
  std::string text;
  for (const auto& key : root.keys()) {
    if (key != left_out) text += key + ": " + in_one_line(root[key]) + "\n";
  }
  return text;
}

void move_files(YamlView& root, const scenario::Scenario& scenario, const GivenScenario& given,
                const std::string& target) {
  const auto folder = folder_of(given.is_file() ? given.name() : "./here");  // what is no file is seen from here
  const auto move = [&](const YamlView& view, const std::string& path) {
    if (view.is_scalar()) root = root.with_override(path, in_one_line(moved(view.text(), folder, target)));
  };
  const auto move_if_there = [&](const YamlView& view, const std::string& path) {
    std::error_code unreadable;
    if (view.is_scalar() && std::filesystem::exists(folder / view.text(), unreadable)) move(view, path);
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
    if (const auto placement = cluster["placement"]; placement.is_map()) {
      move_if_there(placement["hosts"], "cluster.placement.hosts");
      move_if_there(placement["free"], "cluster.placement.free");
    }
  }
  if (const auto routing = root["routing"]; routing.is_map()) move(routing["loads"], "routing.loads");
  if (const auto pipeline = root["pipeline"]; pipeline.is_map() && !scenario.pipeline.file.empty())
    move(pipeline["schedule"], "pipeline.schedule");
}

}  // namespace lockstep::commands
