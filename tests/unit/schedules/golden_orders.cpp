#include "tests/unit/schedules/golden_orders.hpp"
#include "tests/source_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace lockstep {
namespace {

std::filesystem::path folder() { return std::filesystem::path(source_dir) / "tests/data/pipeline"; }

std::ifstream open(const std::string& name) {
  std::ifstream file(folder() / name);
  if (!file) throw std::runtime_error("no golden file " + name);
  return file;
}

workloads::PipelineAction read_action(const std::smatch& match, std::size_t from) {
  static const std::map<std::string, workloads::PipelineWork> works = {{"F", workloads::PipelineWork::forward},
                                                                       {"B", workloads::PipelineWork::backward},
                                                                       {"I", workloads::PipelineWork::input_gradient},
                                                                       {"W", workloads::PipelineWork::weight_gradient}};
  return {works.at(match[from + 1]), std::stoi(match[from]), std::stoi(match[from + 2])};
}

workloads::PipelineCell read_cell(const std::string& text) {
  static const std::regex one("(\\d+)([FBIW])(\\d+)");
  static const std::regex pair("\\((\\d+)([FBIW])(\\d+);(\\d+)([FBIW])(\\d+)\\)OVERLAP_F_B");
  std::smatch match;
  if (std::regex_match(text, match, one)) return {read_action(match, 1), std::nullopt};
  if (std::regex_match(text, match, pair)) return {read_action(match, 1), read_action(match, 4)};
  throw std::runtime_error("no cell: '" + text + "'");
}

}  // namespace

nlohmann::json golden_json(const std::string& name) {
  auto file = open(name);
  return nlohmann::json::parse(file);
}

workloads::PipelineOrder golden_order(const std::string& name, workloads::StagePlacement placement) {
  workloads::PipelineOrder order;
  std::int32_t stages = 0, microbatches = 0;
  auto file = open(name);
  for (std::string line; std::getline(file, line);) {
    auto& cells = order.ranks.emplace_back();
    std::istringstream row(line);
    for (std::string text; std::getline(row, text, ',');) {
      cells.push_back(read_cell(text));
      for_each_action(cells.back(), [&](const workloads::PipelineAction& action) {
        stages = std::max(stages, action.stage + 1);
        microbatches = std::max(microbatches, action.microbatch + 1);
      });
    }
  }
  const auto ranks = static_cast<std::int32_t>(order.ranks.size());
  order.shape = {placement, ranks, stages / ranks, microbatches};
  return order;
}

std::map<std::string, GoldenSizes> golden_files(const std::string& prefix) {
  static const std::regex size("_([A-Z])(\\d+)");
  const std::regex whole(prefix + "(_[A-Z]\\d+)+\\.csv");
  std::map<std::string, GoldenSizes> result;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const auto name = entry.path().filename().string();
    if (!std::regex_match(name, whole)) continue;
    const auto sizes = name.substr(prefix.size());
    for (std::sregex_iterator found(sizes.begin(), sizes.end(), size), end; found != end; ++found) {
      result[name][found->str(1).front()] = std::stoi(found->str(2));
    }
  }
  return result;
}

workloads::StagePlacement placement_named(const std::string& text) {
  for (const auto placement : workloads::all_stage_placements) {
    if (name(placement) == text) return placement;
  }
  throw std::runtime_error("no placement: " + text);
}

}  // namespace lockstep
