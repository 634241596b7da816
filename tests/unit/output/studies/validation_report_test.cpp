// Predicted against measured steps as text, JSON and a page; error = predicted / measured - 1.
#include "tools/output/studies/validation_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "sim/core/errors.hpp"
#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/lines_of.hpp"
#include "tests/unit/output/validation_runs.hpp"
#include "tools/output/studies/collective_errors.hpp"

namespace lockstep {
namespace {

using nlohmann::json;
using test::cells_of_line;
using test::line_with;
using test::run;
using test::skipped;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

std::vector<validation::ValidatedRun> some_runs() {
  return {run("t", "f", "line 1", 0.1),      run("t", "g", "line 2", -0.3, 2), skipped("t", "f", "no such chip"),
          skipped("t", "g", "no such chip"), run("u", "f", "line 1", 0.3),     skipped("u", "f", "no such chip")};
}

TEST(WorstFirst, BySizeOfTheErrorAndEqualOnesInTheirOrder) {
  const std::vector<validation::ValidatedRun> runs{run("t", "f", "a", 0.25), run("t", "f", "b", -0.5),
                                                   skipped("t", "f", "because"), run("t", "f", "c", -0.25),
                                                   run("t", "f", "d", 0.5)};
  std::vector<std::string> names;
  for (const auto* one : output::worst_first(runs)) names.push_back(one->run.name);
  EXPECT_THAT(names, ElementsAre("b", "d", "a", "c"));
}

// Where the rows of a reason stand, the first five of them.
TEST(ValidationText, LinesOfSkippedRows) {
  std::vector<validation::ValidatedRun> runs;
  for (int line = 2; line <= 8; ++line) {
    runs.push_back(skipped("t", "f", line == 4 ? "no such model" : "no such chip"));
    runs.back().run.where.line = line;
  }
  EXPECT_THAT(output::validation_text(runs, false),
              HasSubstr("skipped\n  6 of t: no such chip (lines 2, 3, 5, 6, 7 and 1 more)\n"
                        "  1 of t: no such model (line 4)\n"));
}

TEST(Reasons, AreCountedByTable) {
  EXPECT_THAT(output::reasons_of(some_runs()), ElementsAre(Pair("t: no such chip", 2U), Pair("u: no such chip", 1U)));
  EXPECT_TRUE(output::reasons_of({run("t", "f", "a", 0)}).empty());
}

// Table t: sizes 10 % and 30 %, mean 20, median 20, bias -10, max 30.
TEST(ValidationText, ALineForEachTableAndFamily) {
  const auto text = output::validation_text(some_runs(), false);
  EXPECT_THAT(cells_of_line(line_with(text, "t ")),
              ElementsAre("t", "2", "2", "20.0 %", "20.0 %", "-10.0 %", "30.0 %", "-"));
  EXPECT_THAT(cells_of_line(line_with(text, "u ")),
              ElementsAre("u", "1", "1", "30.0 %", "30.0 %", "+30.0 %", "30.0 %", "-"));
  EXPECT_EQ(line_with(text, "  f"), "");
  EXPECT_THAT(cells_of_line(line_with(text, "t line 2 (g)")),
              ElementsAre("t line 2 (g)", "1.40 s", "2.00 s", "-30.0 %"));
  EXPECT_THAT(text, HasSubstr("skipped\n  2 of t: no such chip\n  1 of u: no such chip\n"));
  EXPECT_THAT(text, Not(HasSubstr("memory"))) << "nothing of it was measured";
  EXPECT_THAT(cells_of_line(line_with(output::validation_text(some_runs(), true), "  g")),
              ElementsAre("g", "1", "1", "30.0 %", "30.0 %", "-30.0 %", "30.0 %", "-"));
}

TEST(ValidationText, ATableOfWhichNothingRuns) {
  const auto text = output::validation_text({skipped("t", "f", "because")}, false);
  EXPECT_THAT(cells_of_line(line_with(text, "t ")), ElementsAre("t", "0", "1", "-", "-", "-", "-", "-"));
  EXPECT_THAT(text, Not(HasSubstr("worst rows")));
}

TEST(ValidationText, MemoryWhereItWasMeasured) {
  auto measured = run("t", "f", "a", 0.1);
  measured.run.peak_bytes = 10e9;
  measured.predicted_peak_bytes = 11e9;
  measured.compared_peak_bytes = 12e9;  // what an allocator reserves for 11
  EXPECT_THAT(output::validation_text({measured}, false),
              HasSubstr("\nmemory  ran  said not to fit  measured    mean  median     bias     max\n"
                        "t         0                0         1  20.0 %  20.0 %  +20.0 %  20.0 %\n"));
}

// 12 GB of 10 are too many for the first step, and fit the second.
TEST(ValidationText, CountsStepsThatAreSaidNotToFit) {
  auto refused = run("t", "f", "a", 0.1), fits = run("t", "f", "b", 0.1);
  refused.predicted_peak_bytes = fits.predicted_peak_bytes = 12e9;
  refused.capacity_bytes = 10e9;
  fits.capacity_bytes = 16e9;
  const auto text = output::validation_text({refused, fits}, false);
  EXPECT_THAT(cells_of_line(line_with(text.substr(text.find("\nmemory")), "t ")),
              ElementsAre("t", "2", "1", "0", "-", "-", "-", "-"));
  const auto family = validation::families_of({refused, fits}).front();
  EXPECT_EQ(family.ran, 2U);
  EXPECT_EQ(family.refused, 1U);
}

TEST(ValidationJson, TellsUnknownFromZero) {
  const auto read = json::parse(output::validation_json(some_runs(), "calibrated"));
  EXPECT_EQ(read["model_of_time"], "calibrated");
  const auto& row = read["rows"][1];
  EXPECT_EQ(row["table"], "t");
  EXPECT_EQ(row["measured_s"], 2);
  EXPECT_NEAR(row["error_pct"], -30, 1e-9);
  EXPECT_TRUE(row["skipped_because"].is_null());
  EXPECT_TRUE(row["measured_peak_bytes"].is_null());
  EXPECT_TRUE(row["predicted_peak_bytes"].is_null());
  EXPECT_TRUE(row["compared_peak_bytes"].is_null());
  const auto& left = read["rows"][2];
  for (const auto* unknown : {"measured_s", "predicted_s", "error_pct"})
    EXPECT_TRUE(left[unknown].is_null()) << unknown;
  EXPECT_EQ(left["skipped_because"], "no such chip");
  EXPECT_EQ(read["families"][0]["family"], "all");
  EXPECT_NEAR(read["families"][0]["mean_abs_pct"], 20, 1e-9);
  EXPECT_TRUE(read["families"][0]["memory_bias_pct"].is_null());
}

TEST(ValidationJson, NamesOfAnyKind) {
  auto hostile = run(test::hostile_name, test::hostile_name, "a", 0.1);
  hostile.run.skipped_because = test::hostile_name;
  const auto read = json::parse(output::validation_json({hostile}, test::hostile_name));
  EXPECT_EQ(read["rows"][0]["table"], test::hostile_name);
  EXPECT_EQ(read["rows"][0]["skipped_because"], test::hostile_name);
  EXPECT_EQ(test::lines_of(output::validation_text({run(test::hostile_name, "f", "a", 0.1)}, false)).size(), 7U);
}

validation::ValidatedCollective collective(double bytes, double error) {
  validation::ValidatedCollective made;
  made.row.table = "t";
  made.row.text = "all_gather (in place)";
  made.row.chip = "H100 8x";
  made.row.kind = workloads::CollectiveKind::all_gather;
  made.row.ranks = 8;
  made.row.bytes = bytes;
  made.row.seconds = 1e-4;
  made.network = "NVLink 4";
  made.choice = "ring (Simple)";
  made.predicted_s = 1e-4 * (1 + error);
  return made;
}

// One row from 64 MiB is 10 % too slow, which misses 8 %; one below is 20 % too fast, which 30 % allow.
TEST(CollectiveErrorsText, ALineForEachNetworkAndLength) {
  const std::vector<validation::ValidatedCollective> made{collective(128 << 20, 0.1), collective(1536, -0.2)};
  const auto text = output::collective_errors_text(made);
  EXPECT_THAT(cells_of_line(line_with(text, "t: NVLink 4  from")),
              ElementsAre("t: NVLink 4", "from 64 MiB", "1", "10.0 %", "10.0 %", "+10.0 %", "missed"));
  EXPECT_THAT(cells_of_line(line_with(text, "t: NVLink 4  shorter")),
              ElementsAre("t: NVLink 4", "shorter", "1", "20.0 %", "20.0 %", "-20.0 %", "met"));
  EXPECT_THAT(text, HasSubstr("H100 8x, all_gather of 1.5 KiB on 8"));
  EXPECT_EQ(output::collective_errors_text({}), "");
  const auto part = output::collective_errors_part(made);
  EXPECT_THAT(part,
              HasSubstr("| t | NVLink 4 | from 64 MiB | 1 | 10.0 | 10.0 | +10.0 | H100 8x, all_gather of 128 MiB on "
                        "8: 110 us, measured 100 | **no** |\n"));
  EXPECT_EQ(output::collective_errors_part({}), "");
}

TEST(CollectiveErrorsText, TheSameAsJson) {
  const auto read = json::parse(output::validation_json({}, "calibrated", {collective(128 << 20, 0.1)}));
  EXPECT_EQ(read["collective_families"][0]["messages"], "long");
  EXPECT_EQ(read["collective_families"][0]["meets_target"], false);
  EXPECT_NEAR(read["collectives"][0]["error_pct"], 10, 1e-9);
  EXPECT_EQ(read["collectives"][0]["kind"], "all_gather");
}

TEST(LeaveOneOutText, ARowForEachTable) {
  validation::LeftOut left{"h100", "t", {4, 0.1, 0, 0, 0}, {4, 0.05, 0, 0, 0}, {4, 0.08, 0, 0, 0}, 1.25, 0.5};
  EXPECT_THAT(cells_of_line(line_with(output::leave_one_out_text({left}), "h100")),
              ElementsAre("h100: t", "4", "10.0 %", "5.0 %", "8.0 %", "1.25", "0.50"));
}

// The page asks 5 % of the one table on average, which 10 % misses, and 8 % of the other, which 6 % meets.
TEST(ValidationPage, TablesThatMissTheirTargetComeFirstWithTheirWorstRows) {
  const std::string missed = "korthikanti2022_layer_time", met = "dgxc_benchmarking";
  const auto page = output::validation_page(
      {run(met, "f", "met row", 0.06), run(missed, "f", "missed row", -0.1), run("no_target", "f", "other row", 0.01)},
      {});
  const auto targets = page.substr(page.find("### Targets"), page.find("### By table") - page.find("### Targets"));
  EXPECT_THAT(targets, HasSubstr("| " + missed + " | 1 | 5.0 | 10.0 | 10.0 |  | **no** |\n| " + met +
                                 " | 1 | 8.0 | 6.0 | 6.0 |  | yes |\n"));
  EXPECT_THAT(targets, HasSubstr("| " + missed + ", missed row: f | 0.900 | 1.000 | -10.0 |\n"));
  EXPECT_THAT(targets, AllOf(Not(HasSubstr("met row")), Not(HasSubstr("no_target"))));
  EXPECT_THAT(page, Not(HasSubstr("### Left out")));
  EXPECT_THAT(page, Not(HasSubstr("### Rows that are skipped")));
  for (const auto& table : validation::published_tables())
    EXPECT_THAT(page, HasSubstr("- **" + std::string(table.name) + "**, "));
}

TEST(ValidationPage, ALineOfATable) {
  validation::Family family;
  family.table = "t";
  family.skipped = 3;
  EXPECT_EQ(output::validation_page_line(family), "| t | 0 | 3 | | | | | |");
  family.time = {5, 0.1, 0.08, 0.3, -0.02};
  EXPECT_EQ(output::validation_page_line(family), "| t | 5 | 3 | 10.0 | 8.0 | -2.0 | 30.0 |  |");
  family.spearman = 0.875;
  family.time.bias = 0.02;
  EXPECT_EQ(output::validation_page_line(family), "| t | 5 | 3 | 10.0 | 8.0 | +2.0 | 30.0 | 0.88 |");
}

// Studies that were not made keep their sections of the page, to the next heading.
TEST(ValidationPage, KeepsSections) {
  const std::string part = "\n### A\n\na\n\n### Three steps of one's own\n\n| old |\n\n### Memory\n\nm\n\n";
  const auto kept = output::section_of(part, output::own_steps_heading);
  EXPECT_EQ(kept, "### Three steps of one's own\n\n| old |\n\n");
  EXPECT_EQ(output::section_of(part, output::ablation_heading), "");
  EXPECT_EQ(output::section_of(part, "### Memory\n"), "### Memory\n\nm\n\n");
  output::ValidationStudies studies;
  studies.kept_own_steps = kept;
  EXPECT_THAT(output::validation_page({run("t", "f", "row", 0.01)}, studies), HasSubstr("\n\n" + kept));
}

TEST(OwnStepsText, SaysWhyItIsEmpty) {
  EXPECT_EQ(output::own_steps_text({}, 2),
            "no steps of one's own: no table has 5 timed steps on one chip with kernel times, of which 2 are given and "
            "3 or more others predicted\n");
}

TEST(GeneratedPart, ReplacesWhatStandsBetweenTheMarkers) {
  const std::string begin = "<!-- generated by lockstep validate: begin -->\n",
                    end = "<!-- generated by lockstep validate: end -->\n";
  const auto page = "before\n" + begin + "old\n" + end + "after\n";
  const auto once = output::with_generated_part(page, "new\n", "v.md");
  EXPECT_EQ(once, "before\n" + begin + "\nnew\n\n" + end + "after\n");
  EXPECT_EQ(output::with_generated_part(once, "new\n", "v.md"), once) << "written twice it is the same";
  for (const auto& broken : {std::string("no markers"), end + begin, begin, end})
    EXPECT_THROW((void)output::with_generated_part(broken, "new", "v.md"), ConfigError) << broken;
}

}  // namespace
}  // namespace lockstep
