// Goodput for people and for programs. A training of T tokens at r tokens/s, of which a share u counts, takes
// T / (r u 86400) days, and chips x days x 24 chip hours.
#include "tools/output/studies/goodput_text.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/long_time.hpp"
#include "sim/core/quantity_text.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/lines_of.hpp"

namespace lockstep {
namespace {

using nlohmann::json;
using test::cells_of_line;
using test::line_with;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class GoodputText : public testing::Test {
 protected:
  GoodputText()
      : scenario_(scenario::load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios/small.yaml")) {
    goodput::Cause host;
    host.name = "host dies";
    host.of = scenario::Component::host;
    host.count = 16;
    host.rate = 16e-6;  // one in a million seconds each
    study_.model.causes = {host};
    study_.model.checkpoint = Bytes(1'000'000'000);
    study_.model.interval = Seconds(600);
    study_.model.stall = Seconds(3);
    study_.model.read = Seconds(5);
    study_.model.step = Seconds(2);
    study_.expected = {0.5, 0.1, 0, {{0.2, 0.15, 0.05, 1e-4}}};
    study_.best = {Seconds(900), 0.55};
    study_.first_order = Seconds(800);
    study_.around = {{Seconds(300), 0.45}, {Seconds(600), 0.5}};
    study_.simulated = {20, 7, Seconds(1e6), {0.48, 0.12, 0, {{0.2, 0.15, 0.05, 1e-4}}}, 0.01, 0.4, 0.625};
    aim_ = {1e7, 64, 0, 1e12, 2.0};
  }

  [[nodiscard]] std::string text() const { return goodput_text(scenario_, study_, aim_); }
  [[nodiscard]] json read() const { return json::parse(goodput_json(scenario_, study_, aim_)); }

  scenario::Scenario scenario_;
  goodput::GoodputStudy study_;
  output::GoodputAim aim_;
};

TEST(LongTime, UnitsThatSuitTheTime) {
  EXPECT_EQ(format_long(Seconds(119)), format(Seconds(119)));
  EXPECT_EQ(format_long(Seconds(120)), "2.0 min");
  EXPECT_EQ(format_long(Seconds(7199)), "120.0 min");
  EXPECT_EQ(format_long(Seconds(7200)), "2.0 h");
  EXPECT_EQ(format_long(Seconds(47.5 * 3600)), "47.5 h");
  EXPECT_EQ(format_long(Seconds(2 * 86400)), "2.0 days");
  EXPECT_EQ(format_long(Seconds(730.0 * 86400)), "2.0 years");
  EXPECT_EQ(format_long(Seconds(HUGE_VAL)), "never");
  EXPECT_EQ(format_up_to_long(Seconds(7199)), "7199.00 s");
  EXPECT_EQ(format_up_to_long(Seconds(1457995.76)), "16.9 days");
}

// 1e12 tokens / (1e7/s x 0.5 x 86400 s) = 2.3148 days; x 24 x 64 = 3,555.6 chip hours; twice that is the cost. At the
// 95th percentile, 0.625, 1.85 days, and at the 5th, 0.4, 2.89.
TEST_F(GoodputText, DaysChipHoursAndCost) {
  EXPECT_THAT(text(), HasSubstr("10,000,000 tokens/s while it trains: 432.0e9 tokens a day\n"));
  EXPECT_THAT(text(),
              HasSubstr("1,000e9 tokens take 2.3 days (nine of ten runs: 44.4 h to 2.9 days), 3,556 chip hours, cost "
                        "7,111\n"));
  const auto training = read()["training"];
  EXPECT_NEAR(training["days"], 1e12 / (1e7 * 0.5 * 86400), 1e-12);
  EXPECT_NEAR(training["chip_hours"], 64 * 24 * 1e12 / (1e7 * 0.5 * 86400), 1e-9);
  EXPECT_NEAR(training["cost"], 2 * 64 * 24 * 1e12 / (1e7 * 0.5 * 86400), 1e-9);
}

// A run with 16 spare chips pays for 80.
TEST_F(GoodputText, SpareChipsArePaidFor) {
  aim_.spare_chips = 16;
  EXPECT_THAT(text(), HasSubstr("4,444 chip hours, those of 16 spare chips included, cost 8,889\n"));
  EXPECT_NEAR(read()["training"]["cost"], 2 * 80 * 24 * 1e12 / (1e7 * 0.5 * 86400), 1e-9);
}

TEST_F(GoodputText, NothingIsSaidOfTokensThatNobodyAskedFor) {
  aim_.price_per_chip_hour.reset();
  EXPECT_THAT(text(), Not(HasSubstr("cost")));
  EXPECT_FALSE(read()["training"].contains("cost"));
  aim_.tokens.reset();
  EXPECT_THAT(text(), AllOf(HasSubstr("tokens a day"), Not(HasSubstr("chip hours"))));
  EXPECT_FALSE(read().contains("training"));
  aim_.tokens_per_s = 0;
  EXPECT_THAT(text(), Not(HasSubstr("tokens")));
}

// Formula and simulation stand side by side, and what the formula's shares leave out is nothing: they add up to 1.
TEST_F(GoodputText, SharesOfTheTime) {
  EXPECT_THAT(cells_of_line(line_with(text(), "training that counts")),
              ElementsAre("training that counts", "50.00 %", "48.00 %"));
  EXPECT_THAT(cells_of_line(line_with(text(), "checkpoints")), ElementsAre("checkpoints", "10.00 %", "12.00 %"));
  EXPECT_THAT(cells_of_line(line_with(text(), "work done again")),
              ElementsAre("work done again", "20.00 %", "20.00 %"));
  EXPECT_THAT(text(), Not(HasSubstr("fewer chips")));
  double sum = 0;
  const auto shares = read()["shares"];
  for (const auto& [name, share] : shares.items()) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
  study_.model.elastic = true;
  EXPECT_THAT(text(), HasSubstr("fewer chips"));
}

// 1e-4 interruptions a second are one in 10,000 s and 8.64 a day; a host of 16 fails every 1e6 s, 11.6 days.
TEST_F(GoodputText, Interruptions) {
  EXPECT_THAT(text(), HasSubstr("interrupted every 2.8 h, 100 times in 11.6 days\n"));
  EXPECT_THAT(cells_of_line(line_with(text(), "host dies")),
              ElementsAre("host dies", "16 x host", "11.6 days", "8.64", "20.00 %", "15.00 %", "5.00 %", "40.00 %"));
  EXPECT_NEAR(read()["mean_time_between_interruptions_s"], 1e4, 1e-8);
  const auto cause = read()["interruptions"][0];
  EXPECT_EQ(cause["of"], "host");
  EXPECT_NEAR(cause["mtbf_s"], 1e6, 1e-6);
  EXPECT_NEAR(cause["per_day"], 8.64, 1e-12);
}

TEST_F(GoodputText, Checkpoints) {
  EXPECT_THAT(text(),
              HasSubstr("checkpoint of 1.00 GB: training stands still for 3.00 s, read in 5.00 s; every 10.0 min (300 "
                        "steps).\nThe best interval is 15.0 min with 55.00 %; first order, sqrt(2 C M) = 13.3 min.\n"
                        "  every  5.0 min: 45.00 %  10.0 min: 50.00 %\n"));
  study_.model.until_durable = Seconds(40);
  EXPECT_THAT(text(), HasSubstr("for 3.00 s, safe 40.00 s later, read"));
}

// JSON has no infinity: without interruptions the times between them are null, and the text says never.
TEST_F(GoodputText, WithoutInterruptions) {
  study_.model.causes.clear();
  study_.expected = {0.9, 0.1, 0, {}};
  study_.simulated.mean = study_.expected;
  study_.first_order = Seconds(HUGE_VAL);
  EXPECT_THAT(text(), AllOf(HasSubstr("\nnever interrupted\n"), Not(HasSubstr("first order"))));
  EXPECT_TRUE(read()["mean_time_between_interruptions_s"].is_null());
  EXPECT_TRUE(read()["checkpoint"]["first_order_interval_s"].is_null());
  EXPECT_EQ(read()["interruptions"], json::array());
}

TEST_F(GoodputText, NamesOfAnyKind) {
  study_.model.causes[0].name = scenario_.name = test::hostile_name;
  EXPECT_EQ(read()["scenario"], test::hostile_name);
  EXPECT_EQ(read()["interruptions"][0]["name"], test::hostile_name);
  EXPECT_THAT(text(), HasSubstr("\n" + test::hostile_name_shown + "  16 x host")) << "a table's cell stays in its line";
}

}  // namespace
}  // namespace lockstep
