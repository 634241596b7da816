// The report of a calibration: errors are predicted / measured - 1, and the worst are those of the largest factor,
// whichever way it goes.
#include "tools/output/studies/calibration_report.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/lines_of.hpp"

namespace lockstep {
namespace {

using nlohmann::json;
using test::cells_of_line;
using test::line_with;
using test::lines_of;
using testing::ElementsAre;
using testing::HasSubstr;

output::CalibrationReport report() {
  output::CalibrationReport report;
  auto& part = report.parts.emplace_back();
  part.title = "a chip";
  part.fit.before = 0.5;
  part.fit.after = 0.25;
  part.fit.parameters = {{"rate", 0.5, 0.75, 0.02, "", false},
                         {"unused", 3, 3, 0, "no row depends on it", false},
                         {"edge", 0.5, 1, 0.3, "", true},
                         {"vague", 1, 1, 0, "hardly determined", false}};
  part.rows = {{"products", "half", 2, 1}, {"products", "twice", 1, 1.9}, {"copies", "exact", 4, 4}};
  report.yaml = "kernels: {rate: 0.75}\n";
  return report;
}

TEST(CalibrationReport, SaysHowFarToTrustAParameter) {
  const auto text = calibration_text(report());
  EXPECT_THAT(text, testing::StartsWith("a chip\nroot mean square of log(predicted / measured): 50.0 % before, 25.0 % "
                                        "after\n"));
  EXPECT_THAT(cells_of_line(line_with(text, "rate")), ElementsAre("rate", "0.5", "0.75", "2.0 %"));
  EXPECT_THAT(cells_of_line(line_with(text, "unused")),
              ElementsAre("unused", "3", "3", "-", "kept: no row depends on it"));
  EXPECT_THAT(cells_of_line(line_with(text, "edge")), ElementsAre("edge", "0.5", "1", "30.0 %", "at its limit"));
  EXPECT_THAT(cells_of_line(line_with(text, "vague")), ElementsAre("vague", "1", "1", "-", "kept: hardly determined"));
  EXPECT_THAT(text, testing::EndsWith("\nkernels: {rate: 0.75}\n"));
}

// Half the time is a factor of 2, -50 %; 1.9 times the time is a smaller one, +90 %. Together: mean (0.5 + 0.9) / 2,
// bias (0.9 - 0.5) / 2.
TEST(CalibrationReport, ResidualsByGroupAndTheWorstRows) {
  const auto text = calibration_text(report());
  EXPECT_THAT(cells_of_line(line_with(text, "products")),
              ElementsAre("products", "2", "70.0 %", "70.0 %", "+20.0 %", "90.0 %"));
  const auto lines = lines_of(text);
  const auto first =
      std::find_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("worst"); });
  ASSERT_LT(first + 3, lines.end());
  EXPECT_THAT(cells_of_line(first[1]), ElementsAre("half", "1.00 s", "2.00 s", "-50.0 %"));
  EXPECT_THAT(cells_of_line(first[2]), ElementsAre("twice", "1.90 s", "1.00 s", "+90.0 %"));
  EXPECT_THAT(cells_of_line(first[3]), ElementsAre("exact", "4.00 s", "4.00 s", "+0.0 %"));
}

// Three rows with 0.5 and one with 0.1: sqrt((3 0.25 + 0.01) / 4).
TEST(CalibrationReport, SeveralKindsTogether) {
  auto both = report();
  both.parts.push_back({"steps", {{{"clock", 1, 0.9, 0.1, "", false}}, 0.1, 0}, {{"steps", "a step", 1, 1}}});
  both.warnings = {"something to know"};
  const auto read = json::parse(calibration_json(both));
  EXPECT_EQ(read["title"], "a chip; steps");
  EXPECT_NEAR(read["rms_before"], std::sqrt(0.76 / 4), 1e-12);
  EXPECT_EQ(read["parameters"].size(), 5U);
  EXPECT_EQ(read["rows"].size(), 4U);
  const auto text = calibration_text(both);
  EXPECT_LT(text.find("a chip\n"), text.find("steps\n"));
  EXPECT_THAT(text, HasSubstr("\nwarning: something to know\n\nkernels: {"));
}

TEST(CalibrationReport, ShowsTenRowsInTextAndAllInJson) {
  auto many = report();
  many.parts[0].rows.clear();
  for (int i = 1; i <= 25; ++i) many.parts[0].rows.push_back({"g", "row " + std::to_string(i) + ".", 1, 1 + 0.01 * i});
  const auto text = calibration_text(many);
  EXPECT_THAT(text, HasSubstr("row 25."));
  EXPECT_THAT(text, HasSubstr("row 16."));
  EXPECT_THAT(text, testing::Not(HasSubstr("row 15.")));
  EXPECT_EQ(json::parse(calibration_json(many))["rows"].size(), 25U);
}

TEST(CalibrationReport, JsonHasTheValues) {
  auto made = report();
  auto& part = made.parts[0];
  part.title = part.rows[0].name = part.rows[0].group = part.fit.parameters[0].name = test::hostile_name;
  made.warnings = {test::hostile_name};
  const auto read = json::parse(calibration_json(made));
  EXPECT_EQ(read["title"], test::hostile_name);
  EXPECT_EQ(read["rms_before"], 0.5);
  EXPECT_EQ(read["rms_after"], 0.25);
  EXPECT_EQ(read["parameters"][0], (json{{"name", test::hostile_name},
                                         {"before", 0.5},
                                         {"after", 0.75},
                                         {"error_grows_by", 0.02},
                                         {"kept", false},
                                         {"kept_because", nullptr},
                                         {"at_limit", false}}));
  EXPECT_EQ(read["parameters"][2]["at_limit"], true);
  EXPECT_EQ(read["groups"][0]["name"], test::hostile_name);
  EXPECT_EQ(read["groups"].size(), 3U);
  EXPECT_NEAR(read["rows"][1]["error_pct"], 90, 1e-9);
  EXPECT_EQ(read["parameters"][1]["kept_because"], "no row depends on it");
  EXPECT_EQ(read["warnings"], json::array({test::hostile_name}));
  EXPECT_EQ(read["yaml"], made.yaml);
}

}  // namespace
}  // namespace lockstep
