// A loss costs step/whole - 1 more, or parts the job. Text and JSON say the same of every loss.
#include "tools/output/studies/fault_text.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/lines_of.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

scenario::Scenario named(const std::string& name) {
  scenario::Scenario scenario;
  scenario.name = name;
  return scenario;
}

// 2 s without, 3 s with the loss: 3/2 - 1 = 50 % longer.
faults::FaultStudy two_losses() {
  return {Seconds(2),
          {{"leaf 3", true, 4, Seconds(0), "no way from node 0 to node 1"},
           {"spine 0 - leaf 1", false, 32, Seconds(3), ""}},
          5};
}

TEST(FaultText, SaysWhatEachLossCosts) {
  const auto text = output::fault_text(named("two trees"), two_losses());
  EXPECT_THAT(text, HasSubstr("two trees: a step takes 2.00 s\n"));
  EXPECT_THAT(test::line_with(text, "leaf 3"), HasSubstr("parts the job: no way from"));
  const auto cable = test::line_with(text, "spine 0 - leaf 1");
  EXPECT_THAT(cable, HasSubstr("32"));
  EXPECT_THAT(cable, HasSubstr("3.00 s"));
  EXPECT_THAT(cable, HasSubstr("50.0 % longer"));
  EXPECT_THAT(text, HasSubstr("5 more kinds of loss were not simulated"));
  EXPECT_LE(test::widest_line(text), 80U);
}

TEST(FaultText, AClusterWithoutANetworkHasNothingToLose) {
  const auto text = output::fault_text(named("one node"), {Seconds(1), {}, 0});
  EXPECT_THAT(text, HasSubstr("nothing to lose"));
  EXPECT_THAT(text, Not(HasSubstr("not simulated")));
}

TEST(FaultText, JsonHasTheSameLosses) {
  const auto json = nlohmann::json::parse(output::fault_json(named("two trees"), two_losses()));
  EXPECT_EQ(json["step_time_s"], 2);
  EXPECT_EQ(json["not_simulated"], 5);
  ASSERT_EQ(json["losses"].size(), 2U);
  EXPECT_EQ(json["losses"][0]["kind"], "switch");
  EXPECT_TRUE(json["losses"][0]["step_time_s"].is_null());
  EXPECT_EQ(json["losses"][0]["partition"], "no way from node 0 to node 1");
  EXPECT_EQ(json["losses"][1]["kind"], "cable");
  EXPECT_EQ(json["losses"][1]["alike"], 32);
  EXPECT_EQ(json["losses"][1]["step_time_s"], 3);
  EXPECT_TRUE(json["losses"][1]["partition"].is_null());
}

}  // namespace
}  // namespace lockstep
