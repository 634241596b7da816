// Losses on the network of two leaves (two_leaves.hpp).
#include "sim/studies/faults/fault_study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "sim/simulate.hpp"
#include "tests/unit/scenario/two_leaves.hpp"

namespace lockstep {
namespace {

using test::on_two_leaves;
using test::with_uplinks;

Seconds step_of(const scenario::Scenario& scenario) {
  spdlog::logger log("quiet");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  return simulate(scenario, options, log).metrics.step_time;
}

faults::FaultStudy study(const scenario::Scenario& scenario, std::int64_t most = 64) {
  spdlog::logger log("quiet");
  faults::FaultOptions options;
  options.most = most;
  return study_faults(scenario, options, log);
}

const faults::Loss& loss_of(const faults::FaultStudy& study, const std::string& name) {
  for (const auto& loss : study.losses) {
    if (loss.name == name) return loss;
  }
  throw std::runtime_error("no loss of " + name);
}

/// Sprayed, the two spines carry as one; without one of them the leaves have half the rate between them.
TEST(FaultStudy, ASpineOfTwoIsHalfTheUplinks) {
  const auto scenario = with_uplinks(on_two_leaves("spray"), 0.2);
  const auto found = study(scenario);
  EXPECT_EQ(found.whole, step_of(scenario));
  const auto& spine = loss_of(found, "spine1");
  EXPECT_EQ(spine.alike, 2);
  EXPECT_EQ(spine.partition, "");
  EXPECT_EQ(spine.step, step_of(with_uplinks(scenario, 0.5)));
  EXPECT_GT(spine.step, found.whole);
}

/// Without a leaf its hosts are cut off, without a cable of a host the host is: neither is an error. Those come first.
TEST(FaultStudy, ALeafPartsTheJob) {
  for (const char* routing : {"spray", "ecmp"}) {
    const auto found = study(on_two_leaves(routing));
    EXPECT_NE(found.losses.front().partition, "") << routing;
    EXPECT_EQ(found.losses.back().partition, "") << routing;
    EXPECT_NE(loss_of(found, "leaf1").partition, "") << routing;
    std::int64_t switches = 0, cables = 0;
    for (const auto& loss : found.losses) (loss.is_switch ? switches : cables) += loss.alike;
    EXPECT_EQ(switches, 4) << routing;
    EXPECT_EQ(cables, 8) << routing;
    for (std::size_t i = 1; i < found.losses.size(); ++i) {
      if (found.losses[i - 1].partition.empty()) {
        EXPECT_GE(found.losses[i - 1].step, found.losses[i].step);
      }
    }
  }
}

TEST(FaultStudy, SaysHowManyKindsItLeftOut) {
  const auto one = study(on_two_leaves("spray"), 1);  // of leaves, spines, cables of NICs and of leaves
  EXPECT_EQ(one.losses.size(), 1u);
  EXPECT_EQ(one.left_out, 3);
}

}  // namespace
}  // namespace lockstep
