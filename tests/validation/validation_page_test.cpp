// docs/validation.md shows what this version predicts: the lines of tables that take a moment, as the program prints
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <iterator>

#include "sim/studies/calibration/validate_attention.hpp"
#include "sim/studies/calibration/validate_products.hpp"
#include "tests/source_dir.hpp"
#include "tools/output/studies/validation_report.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

const std::filesystem::path root = source_dir;

std::string page() {
  std::ifstream in(root / "docs/validation.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<validation::ValidatedRun> runs_of(const std::string& name) {
  const auto file = root / "tests/validation/data" / (name + ".csv");
  Problems problems;
  const CsvTable table(file, problems);
  if (calibration::has_product_columns(table)) return calibration::validate_products(table, name, "calibrated");
  if (calibration::has_attention_columns(table)) return calibration::validate_attention(table, name, "calibrated");
  const validation::RunTable steps{name, read_published_runs(*validation::find_published_table(name), table),
                                   file.parent_path(), true};
  validation::ValidateOptions options;
  options.model_of_time = "calibrated";
  spdlog::logger silent("test");
  return validate({steps}, options, silent);
}

class ValidationPage : public ::testing::TestWithParam<const char*> {};

TEST_P(ValidationPage, HasTheErrorsOfThisVersion) {
  for (const auto& family : families_of(runs_of(GetParam()))) {
    if (family.name.empty()) {
      EXPECT_THAT(page(), HasSubstr(output::validation_page_line(family) + "\n"))
          << "lockstep validate --update-docs docs/validation.md";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(QuickTables, ValidationPage,
                         testing::Values("korthikanti2022_layer_time", "torchtitan", "internevo_a100_roce_scaling",
                                         "maxtext_gpu_a3", "tpu_recipes_v5p_v6e", "gemm_achievable"));

}  // namespace
}  // namespace lockstep
