#include "tests/unit/schedules/golden_csv.hpp"
#include "tests/source_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace lockstep {
namespace {

const std::filesystem::path folder_of_all = std::filesystem::path(source_dir) / "tests/data/pipeline";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

workloads::StagePlacement placement_of(const std::string& text) {
  return *std::find_if(std::begin(workloads::all_stage_placements), std::end(workloads::all_stage_placements),
                       [&](workloads::StagePlacement p) { return name(p) == text; });
}

std::vector<GoldenCsv> all() {
  std::vector<GoldenCsv> result;
  const auto index = nlohmann::json::parse(read(folder_of_all / "index.json"));
  for (const auto& [file, entry] : index.items()) {
    result.push_back({file, placement_of(entry.at("placement").get<std::string>()), read(folder_of_all / file)});
  }
  return result;
}

}  // namespace

std::vector<GoldenCsv> golden_csvs(const std::string& folder) {
  static const auto files = all();
  std::vector<GoldenCsv> result;
  for (const auto& file : files) {
    if (std::filesystem::path(file.name).parent_path() == folder) result.push_back(file);
  }
  return result;
}

GoldenCsv golden_csv(const std::string& name) {
  for (auto& file : golden_csvs(std::filesystem::path(name).parent_path().string())) {
    if (file.name == name) return file;
  }
  throw std::runtime_error("no golden file " + name);
}

std::string text_of(const std::vector<workloads::CsvProblem>& problems) {
  std::string result;
  for (const auto& problem : problems) {
    if (problem.row >= 0)
      result += std::to_string(problem.row + 1) + ":" + std::to_string(problem.column + 1) + " '" + problem.cell + "' ";
    result += problem.what + (problem.expected.empty() ? "" : " [" + problem.expected + "]") + "\n";
  }
  return result;
}

std::string problems_of(const std::string& csv, workloads::StagePlacement placement) {
  return text_of(import_pytorch_csv(csv, placement).problems);
}

}  // namespace lockstep
