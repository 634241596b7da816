// Megatron's layout strings: a bar ends a stage, x*N and (...)*N repeat, commas mean nothing. Written short, they read
// back as the same stages.
#include "workloads/pipeline/layout.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using workloads::PipelineLayout;

PipelineLayout read(std::string_view text) {
  const auto parsed = workloads::parse_layout(text);
  return std::holds_alternative<PipelineLayout>(parsed) ? std::get<PipelineLayout>(parsed) : PipelineLayout{};
}

std::string refused(std::string_view text) {
  const auto parsed = workloads::parse_layout(text);
  const auto* problem = std::get_if<workloads::LayoutProblem>(&parsed);
  return problem == nullptr ? "" : problem->what;
}

// DeepSeek-V3 on 16 ranks with two chunks (Megatron Core's user guide, pipeline_parallel_layout): 1 + 29 + 1 + 1
// stages.
TEST(Layout, OfDeepSeekV3) {
  const auto layout = read("Et*3|(tt|)*29,m|L");
  ASSERT_EQ(layout.size(), 32U);
  EXPECT_EQ(layout[0], "Ettt");
  for (int stage = 1; stage < 30; ++stage) EXPECT_EQ(layout[stage], "tt");
  EXPECT_EQ(layout[30], "m");
  EXPECT_EQ(layout[31], "L");
}

// The forms that Megatron's parser names in its comments, and a repeated letter inside of brackets.
TEST(Layout, Repetitions) {
  EXPECT_THAT(read("EtL"), ElementsAre("EtL"));
  EXPECT_THAT(read("Et,(tt|)*2, mL"), ElementsAre("Ettt", "tt", "mL"));
  EXPECT_THAT(read("E(|tt)*2,L"), ElementsAre("E", "tt", "ttL"));
  EXPECT_THAT(read("Et*2|(t*3|)*2t|tmL"), ElementsAre("Ett", "ttt", "ttt", "t", "tmL"));
  EXPECT_THAT(read("E||t|L"), ElementsAre("E", "", "t", "L"));
}

TEST(Layout, WrittenTextReadsBackAsTheSame) {
  for (const auto* text :
       {"Et*3|(tt|)*29,m|L", "EtL", "Et*4|(t*4|)*14,tmL", "tt|tt", "(t|)*3,t", "E||t|L", "Et|t|t|L"}) {
    const auto written = workloads::layout_text(read(text));
    EXPECT_EQ(read(written), read(text)) << written;
    EXPECT_EQ(workloads::layout_text(read(written)), written);
  }
  EXPECT_EQ(workloads::layout_text(read("Ettt|tt|tt|tt|m|L")), "Et*3|(tt|)*3,m|L");
}

TEST(Layout, WhatIsNone) {
  EXPECT_EQ(refused(""), "the layout is empty");
  EXPECT_EQ(refused("Et|x"), "'x' is no part of a layout");
  EXPECT_EQ(refused("t*"), "'*' has no whole number of repetitions behind it");
  EXPECT_EQ(refused("t*0"), "'*' has no whole number of repetitions behind it");
  EXPECT_EQ(refused("*3"), "'*' is no part of a layout");
  EXPECT_EQ(refused("(tt|)"), "there is no number of repetitions behind a bracket");
  EXPECT_EQ(refused("(t(t|)*2)*3"), "a bracket is not closed before the next one or the end");
  EXPECT_EQ(refused("tt)"), "')' is no part of a layout");
}

// 300,000 letters are three times the layers of the largest model; more are refused before they are there.
TEST(Layout, RefusesWhatWouldFillTheMemory) {
  EXPECT_EQ(read("t*300000").front().size(), 300'000U);
  EXPECT_EQ(refused("t*300001"), "'*' has no whole number of repetitions behind it");
  EXPECT_EQ(refused("(t*100000|)*4"), "there are more than 300000 letters and bars");
  EXPECT_EQ(refused("t*99999999999999999999"), "'*' has no whole number of repetitions behind it");
}

}  // namespace
}  // namespace lockstep
