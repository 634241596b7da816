// lockstep goodput: the keys of its JSON, what its options change, what it refuses.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using Words = std::vector<std::string>;

class Goodput : public CommandLine {
 protected:
  /// One failure in 10,000 s.
  const Words unreliable{"goodput",
                         small,
                         "--step-time",
                         "2 s",
                         "--set",
                         "reliability={failures: {bug: {of: job, mtbf: 10000 s}}, restart: 90 s, checkpoint: {size: 1 "
                         "GB, write_bandwidth: 100 MB/s}}"};

  [[nodiscard]] nlohmann::json with(const Words& more) const {
    auto arguments = unreliable;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json(arguments);
  }
};

TEST_F(Goodput, FolderHasTheSameDocument) {
  auto words = unreliable;
  words.insert(words.end(), {"--out", "made"});
  (void)good(words);
  EXPECT_EQ(json_file("made/goodput.json"), with({}));
}

TEST_F(Goodput, JsonHasItsKeys) {
  const auto result = with({"--tokens", "1e9", "--price", "2"});
  EXPECT_THAT(keys_of(result),
              IsSupersetOf(Words{"scenario", "chips", "goodput", "shares", "mean_time_between_interruptions_s",
                                 "simulation", "checkpoint", "intervals", "interruptions", "step_time_s",
                                 "tokens_per_s", "tokens_per_day", "training"}));
  double sum = 0;
  for (const auto& share : result["shares"]) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(result["step_time_s"], 2);
  EXPECT_NEAR(result["tokens_per_day"].get<double>(),
              result["tokens_per_s"].get<double>() * result["goodput"].get<double>() * 86400, 1e-3);
  EXPECT_NEAR(result["training"]["days"].get<double>() * result["tokens_per_day"].get<double>(), 1e9, 1);
  EXPECT_NEAR(result["training"]["cost"].get<double>(), 2 * result["training"]["chip_hours"].get<double>(), 1e-9);
}

// C = 10 s, M = 10,000 s: sqrt(2 C M) = 447 s; a checkpoint each 100 s costs a tenth.
TEST_F(Goodput, SetReplacesTheInterval) {
  EXPECT_NEAR(with({})["checkpoint"]["first_order_interval_s"].get<double>(), 447.2, 0.1);
  const auto often = with({"--set", "reliability.checkpoint.interval=100 s"});
  EXPECT_NEAR(often["shares"]["checkpoints"].get<double>(), 0.09, 0.01);
  EXPECT_LT(often["goodput"], with({})["goodput"]);
  EXPECT_EQ(often["checkpoint"]["best_interval_s"], with({})["checkpoint"]["best_interval_s"]);
}

TEST_F(Goodput, TheSeedDecidesTheSimulationOnly) {
  const auto one = with({"--seed", "5", "--runs", "20", "--days", "10"});
  const auto other = with({"--seed", "6", "--runs", "20", "--days", "10"});
  EXPECT_EQ(one["goodput"], other["goodput"]);
  EXPECT_NE(one["simulation"]["goodput"], other["simulation"]["goodput"]);
  EXPECT_EQ(one, with({"--seed", "5", "--runs", "20", "--days", "10"}));
}

TEST_F(Goodput, TextSaysWhatCosts) {
  const auto text = good(unreliable);
  for (const auto* expected :
       {"by the renewal formula", "work done again", "bug", "The best interval is", "tokens a day"})
    EXPECT_THAT(text, HasSubstr(expected));
}

// 64 chips at 1.5 failures a week of 400; a bug every 10,000 s; nobody publishes rates of bugs.
TEST_F(Goodput, BesidePublishedRates) {
  auto words = unreliable;
  words.insert(words.end(), {"--published", "--out", "made"});
  EXPECT_THAT(good(words), HasSubstr("failures in 30.0 days"));
  EXPECT_THAT(content("made/failures.svg"), HasSubstr("no published rate"));
  const auto published = json_file("made/goodput.json")["published"];
  EXPECT_NEAR(published["own_per_day"].get<double>(), 8.64, 1e-9);
  EXPECT_EQ(published["kinds"][0]["of"], "chip");
  EXPECT_TRUE(published["kinds"][0]["own_per_day"].is_null());
  EXPECT_NEAR(published["kinds"][0]["published_per_day"].get<double>(), 1.5 / 7 / 400 * 64, 1e-9);
  EXPECT_TRUE(with({})["published"].is_null());
}

TEST_F(Goodput, AScenarioWithoutReliabilityIsRefused) {
  const auto refused = run({"goodput", small});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("small.yaml:1:1: reliability: missing; expected"));
}

// A spine of a small tree goes missing for a day in ten: the step without it counts for a part of the time.
TEST_F(Goodput, PartsThatDoNotStopTheRunAreSimulated) {
  const auto result =
      json({"goodput", small, "--set",
            "cluster={node: dgx-h100, nodes: 8, fabric: {kind: fat_tree, radix: 16, link: 50 GB/s, nic_latency: 1 us, "
            "switch_latency: 1 us}}",
            "--set", "mesh={}", "--set", "parallel={data: 64}", "--set",
            "reliability={failures: {bug: {of: job, mtbf: 1 day}, spine: {of: switch, tier: 2, mtbf: 80 days, "
            "repair: 1 day, stops: false}}, restart: 90 s, checkpoint: {size: 1 GB, write_bandwidth: 100 MB/s}}"});
  const auto& spine = result["interruptions"][1];
  EXPECT_FALSE(spine["stops"]);
  EXPECT_LT(spine["speed"], 1);
  EXPECT_GT(spine["slower"], 0);
  EXPECT_TRUE(result["interruptions"][0]["speed"].is_null());
  double sum = 0;
  for (const auto& share : result["shares"]) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
}

}  // namespace
}  // namespace lockstep::test
