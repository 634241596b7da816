// lockstep plan with another aim than the healthy step: --draws and --for-run, on a node of eight chips.
#include <gmock/gmock.h>

#include <cstdio>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

class PlanByObjective : public CommandLine {
 protected:
  PlanByObjective() {
    write("node.yaml",
          "format: 1\nmodel: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 4096}\n"
          "cluster: h100:1\nbatch: {sequences: 32, sequence_length: 512}\n"
          "search: {tensor: [1, 2], pipeline: [1, 2], zero: [1, 3], recompute: none, microbatches: [2, 4], schedules: "
          "[1f1b, gpipe]}\n");
  }

  /// Exit 2, nothing on stdout, one line.
  void refused(const Words& options, const std::string& line) const {
    Words arguments{"plan", "node.yaml"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto done = run(arguments);
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_EQ(done.output, "");
    EXPECT_EQ(done.errors, line + "\n");
  }
};

// Under draws the plans come in the order of their 95th percentiles; figures stand beside them in the same order.
TEST_F(PlanByObjective, DrawsOrderThePlans) {
  const Words varied{"plan", "node.yaml", "--draws", "5", "--set", "variations=[{jitter: 0.1}]"};
  const auto found = json(varied);
  const auto& objective = found["objective"];
  EXPECT_EQ(objective["name"], "p95");
  EXPECT_EQ(objective["draws"], 5);
  EXPECT_TRUE(objective["proven"]);
  ASSERT_EQ(objective["plans"].size(), found["best"].size());
  double last = 0;
  for (std::size_t i = 0; i < objective["plans"].size(); ++i) {
    const double p95 = objective["plans"][i]["percentile_95_s"];
    EXPECT_GE(p95, last);
    EXPECT_GE(objective["plans"][i]["median_s"].get<double>(), found["best"][i]["step_time_s"].get<double>());
    last = p95;
  }
  EXPECT_THAT(good(varied),
              AllOf(HasSubstr("best by the 95th percentile of 5 draws"), HasSubstr("\nproof: of 24 plans")));
}

TEST_F(PlanByObjective, ForTheRunOrdersByUsefulSteps) {
  const Words run{
      "plan", "node.yaml", "--for-run", "--set",
      "reliability={failures: {gpu: {of: chip, mtbf: 100 h}}, restart: 5 min, checkpoint: {write_bandwidth: 1 "
      "GB/s}}"};
  const auto found = json(run);
  double last = 0;
  for (std::size_t i = 0; i < found["objective"]["plans"].size(); ++i) {
    const auto& plan = found["objective"]["plans"][i];
    EXPECT_NEAR(plan["useful_step_s"].get<double>() * plan["goodput"].get<double>(),
                found["best"][i]["step_time_s"].get<double>(), 1e-12);
    EXPECT_GE(plan["useful_step_s"].get<double>(), last);
    last = plan["useful_step_s"];
  }
  EXPECT_THAT(good(run), HasSubstr("best by the useful time of the run"));
  // Tokens take the useful steps of the run; of 32 x 512 a step.
  auto with_tokens = run;
  with_tokens.insert(with_tokens.end(), {"--tokens", "1e15", "--out", "made", "--write", "best.yaml"});
  char days[64];
  std::snprintf(days, sizeof days, "%.1f days",
                1e15 / (32 * 512) * found["objective"]["plans"][0]["useful_step_s"].get<double>() / 86400);
  EXPECT_THAT(good(with_tokens), HasSubstr(days));
  EXPECT_EQ(json_file("made/plan.json")["objective"], found["objective"]);
  EXPECT_EQ(json({"run", "best.yaml"})["step_time_s"], found["best"][0]["step_time_s"]);
}

// A run with a spare host pays for its chips, too: 16 chips for 24 hours a day.
TEST_F(PlanByObjective, ForTheRunSpareHostsArePaidFor) {
  Words run{"plan",
            "node.yaml",
            "--for-run",
            "--top",
            "1",
            "--set",
            "reliability={failures: {gpu: {of: chip, mtbf: 100 h}}, restart: 5 min, spares: 1, checkpoint: "
            "{write_bandwidth: 1 GB/s}}"};
  const double useful_step_s = json(run)["objective"]["plans"][0]["useful_step_s"];
  run.insert(run.end(), {"--tokens", "1e9", "--price", "50"});
  char cost[32];
  std::snprintf(cost, sizeof cost, " and cost %.0f\n", 1e9 / (32 * 512) * useful_step_s / 3600 * 16 * 50);
  EXPECT_THAT(good(run), HasSubstr(cost));
}

// No more plans are compared than --most, and what was not compared is not called worse.
TEST_F(PlanByObjective, MostIsTheMost) {
  const Words one{"plan", "node.yaml",   "--draws", "5",     "--most",
                  "1",    "--objective", "regret",  "--set", "variations=[{jitter: 5}]"};
  EXPECT_EQ(json(one)["objective"]["compared"], 1);
  EXPECT_THAT(good(one), AllOf(HasSubstr("best by the largest regret in 5 draws against 1 plan: "),
                               HasSubstr("is also the best of those compared by"), HasSubstr("\nnot proven: ")));
}

TEST_F(PlanByObjective, AimsThatDoNotGoTogetherAreRefused) {
  refused({"--draws", "4"},
          "--draws: nothing varies from step to step in node; expected a scenario with variations, batch.lengths, "
          "routing.variation or hashed paths");
  refused({"--for-run"},
          "node.yaml:1:1: reliability: missing; expected what interrupts the run: {failures: {gpu: {of: chip, "
          "mtbf: 50000 "
          "h}}, restart: 5 min, checkpoint: {write_bandwidth: 1 TB/s}}");
  refused({"--draws", "4", "--chips", "8..16"},
          "--draws: a table of several clusters compares healthy steps; expected one number of chips, the "
          "scenario's own");
}

}  // namespace
}  // namespace lockstep::test
