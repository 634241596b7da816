// docs/validation.md has the errors that the program prints, and the columns that it reads. Simulated again: the tables
// of a few rows; the others come from the same run of `lockstep validate --update-docs`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <fstream>
#include <iterator>

#include "tests/source_dir.hpp"
#include "tools/output/validation_report.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

std::string page() {
  std::ifstream in(std::filesystem::path(source_dir) / "docs/validation.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The generated part about one model of time.
std::string part_of(const std::string& model_of_time) {
  const auto text = page();
  const auto begin = text.find("### model_of_time: " + model_of_time + "\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\n### ", begin + 1) - begin);
}

RunTable table(const std::string& name) {
  Problems problems;
  const auto folder = std::filesystem::path(source_dir) / "tests/validation/data";
  const CsvTable csv(folder / (name + ".csv"), problems);
  problems.throw_if_any();
  return {name, read_published_runs(*find_published_table(name), csv), folder, true};
}

class ValidationPage : public testing::TestWithParam<const char*> {};

TEST_P(ValidationPage, HasTheErrorsOfToday) {
  spdlog::logger silent("test");
  const std::vector<RunTable> tables{table("korthikanti2022_iteration_time"), table("korthikanti2022_layer_time"), table("maxtext_gpu_a3")};
  const auto part = part_of(GetParam());
  for (const auto& family : families_of(validate(tables, {GetParam(), 2, EngineKind::simgrid, {}}, silent))) {
    if (family.name.empty()) EXPECT_THAT(part, HasSubstr(validation_page_line(family)));
  }
}
INSTANTIATE_TEST_SUITE_P(ModelsOfTime, ValidationPage, testing::Values("ideal", "roofline"), [](const auto& param) { return std::string(param.param); });

TEST(ValidationPageText, NamesEveryTableAndColumn) {
  const auto text = page();
  for (const auto& published : published_tables()) EXPECT_THAT(text, HasSubstr("- **" + std::string(published.name) + "**, " + std::string(published.about)));
  for (const auto& column : measured_columns()) EXPECT_THAT(text, HasSubstr("| `" + std::string(column.name) + "` | "));
}

}  // namespace
}  // namespace lockstep
