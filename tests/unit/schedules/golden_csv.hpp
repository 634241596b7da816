#pragma once
/// The golden pipeline CSVs under tests/data/pipeline as texts.
#include <string>
#include <vector>

#include "workloads/pipeline/csv/pytorch_csv.hpp"

namespace lockstep {

struct GoldenCsv {
  std::string name;  ///< "torch_comms/bfs_P2_M4_V2_comms.csv"
  workloads::StagePlacement placement{};
  std::string text;
};

/// Those of a folder ("" for the main one) by index.json.
[[nodiscard]] std::vector<GoldenCsv> golden_csvs(const std::string& folder);
[[nodiscard]] GoldenCsv golden_csv(const std::string& name);

/// "3:2 '3B0' what [expected]" for each problem, as a spreadsheet counts; a line each.
[[nodiscard]] std::string text_of(const std::vector<workloads::CsvProblem>& problems);
/// text_of the problems of an import.
[[nodiscard]] std::string problems_of(const std::string& csv,
                                      workloads::StagePlacement placement = workloads::StagePlacement::linear);

}  // namespace lockstep
