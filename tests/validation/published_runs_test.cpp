// Whole training steps that were published, simulated from their scenarios, once at the rates of the data sheet and
// once as the scenarios are run by default, with what kernels reach. The first is a lower bound of the real step:
//
//     1 <= published / at peak = (peak / achieved rate of the products) x (what else the simulation leaves out)
//
// and the second is a prediction, whose error is simulated / published - 1.
//
// The rows are those of docs/case_studies/published_runs.md, whose lines these tests print and expect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/validation/validated.hpp"

namespace lockstep {
namespace {

/// Sources stand in the scenario. A step in seconds or an MFU in percent; neither if nothing was published.
struct PublishedRun {
  std::string scenario;
  double step_s = 0;
  double mfu_percent = 0;
};

void PrintTo(const PublishedRun& run, std::ostream* out) { *out << run.scenario; }

std::string text(const char* format, auto... values) {
  std::string made(400, '\0');
  made.resize(static_cast<std::size_t>(std::snprintf(made.data(), made.size(), format, values...)));
  return made;
}

std::string page() {
  std::ifstream in(std::filesystem::path(source_dir) / "docs/case_studies/published_runs.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Published over simulated. Equal tokens and equal conventions: steps are in the ratio of the MFUs.
double ratio(const PublishedRun& run, const studies::Outcome& outcome) {
  return run.step_s > 0 ? run.step_s / outcome.step_s : 100 * outcome.mfu / run.mfu_percent;
}

std::string row(const PublishedRun& run, const studies::Outcome& at_peak, const studies::Outcome& outcome) {
  std::string line = "| " + run.scenario + " | ";
  line += run.step_s > 0        ? text("%.3g s | ", run.step_s)
          : run.mfu_percent > 0 ? text("MFU %.0f %% | ", run.mfu_percent)
                                : "- | ";
  const bool published = run.step_s > 0 || run.mfu_percent > 0;
  line += text("%.3g s | ", at_peak.step_s) + (published ? text("%.2f | ", ratio(run, at_peak)) : "- | ") +
          text("%.3g s | ", outcome.step_s) +
          (published ? text("%+.1f %% | ", 100 / ratio(run, outcome) - 100) : "- | ");
  const double percent = 100 / outcome.step_s;
  return line + text("%.0f %% | %.0f %% | %.0f %% | %.0f of %.0f GB |", 100 * outcome.mfu,
                     percent * outcome.exposed_comm_s, percent * outcome.bubble_s,
                     static_cast<double>(outcome.peak_bytes) / 1e9, static_cast<double>(outcome.capacity_bytes) / 1e9);
}

class PublishedRuns : public testing::TestWithParam<PublishedRun> {};

// The bounds at peak are the slowest products of 2021 (40 % of the peak, when a step also waits) and the peak itself;
// those of a prediction hold the worst row, whose layout is assumed.
TEST_P(PublishedRuns, AreNotFasterThanAtPeakAndFit) {
  const auto& run = GetParam();
  const auto file = "published/" + run.scenario + ".yaml";
  const auto at_peak = test::contended(test::shipped(file));
  const auto outcome = test::contended(scenario::load_scenario(std::filesystem::path(source_dir) / "scenarios" / file));
  const auto line = row(run, at_peak, outcome);
  std::printf("%s\n", line.c_str());
  EXPECT_THAT(page(), testing::HasSubstr(line + "\n"));
  EXPECT_LE(outcome.peak_bytes, outcome.capacity_bytes);
  if (run.step_s == 0 && run.mfu_percent == 0) return;
  EXPECT_GE(ratio(run, at_peak), 1);
  EXPECT_LE(ratio(run, at_peak), 2.5);
  EXPECT_GE(ratio(run, outcome), 1 / 1.3);
  EXPECT_LE(ratio(run, outcome), 1 / 0.85);
}

INSTANTIATE_TEST_SUITE_P(Page, PublishedRuns,
                         testing::Values(PublishedRun{"megatron-1.7b", 3.528}, PublishedRun{"megatron-3.6b", 3.697},
                                         PublishedRun{"megatron-7.5b", 3.696}, PublishedRun{"megatron-18b", 9.399},
                                         PublishedRun{"megatron-39b", 14.453}, PublishedRun{"megatron-76b", 16.058},
                                         PublishedRun{"megatron-145b", 24.817}, PublishedRun{"megatron-310b", 37.614},
                                         PublishedRun{"megatron-530b", 54.085}, PublishedRun{"megatron-1t", 102.63},
                                         PublishedRun{"llama3-70b-64-h100", 14.72}, PublishedRun{"palm-540b", 17.6},
                                         PublishedRun{"llama3-405b-131k", 0, 38}, PublishedRun{"llama3-405b-8k", 0, 43},
                                         PublishedRun{"deepseek-llm-67b", 39.9},
                                         PublishedRun{"llama3-405b-16k-gpus", 0, 41}, PublishedRun{"deepseek-v3", 19.9},
                                         PublishedRun{"olmo-7b"}, PublishedRun{"yi-34b"},
                                         PublishedRun{"yi-lightning-like"}, PublishedRun{"gemma2-27b"}),
                         [](const auto& row) {
                           auto name = row.param.scenario;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace lockstep
