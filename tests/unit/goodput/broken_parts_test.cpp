// Runs that go on without a part, with fewer hosts, and beside a checkpoint that is written.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sim/studies/goodput/simulated_run.hpp"
#include "sim/studies/goodput/study.hpp"
#include "tests/unit/goodput/small_run.hpp"

namespace lockstep {
namespace {

using std::numbers::ln2;
using test::cause;
using test::goes_on;
using test::planned;
using test::run_of;
using test::spared;

// lambda T = ln 2: with probability 1 - e^(-ln 2) = 1/2 one of the parts at least is broken, and the speed is 0.8.
TEST(BrokenParts, SlowTheRunWhileOneIsBroken) {
  const auto shares = expected_shares(run_of({goes_on(ln2, 0.8, 1)}, 1, 0));
  EXPECT_NEAR(shares.useful, 0.9, 1e-12);
  EXPECT_NEAR(shares.causes[0].slower, 0.1, 1e-12);
  EXPECT_EQ(shares.causes[0].losses, ln2);
  EXPECT_EQ(shares.causes[0].interruptions, 0) << "the run goes on";
}

// The worst part that is broken decides: 1/2 of the time the second cause's, else 1/2 of it the first's.
TEST(BrokenParts, TheWorstDecides) {
  const auto slowed = slowed_by_cause(run_of({goes_on(ln2, 0.8, 1), goes_on(ln2, 0.5, 1)}, 1, 0));
  EXPECT_NEAR(slowed[1], 0.5 * 0.5, 1e-12);
  EXPECT_NEAR(slowed[0], 0.5 * 0.5 * 0.2, 1e-12);
}

// K Poisson of mean 1, one spare: P(K = 2) = P(K = 1)/2 = 1/(2e), P(K = 3) = 1/(6e), ...; beyond the speeds that are
// known each host takes 0.1 more. Sum over k >= 1 of P(K = k + 1) (0.2 + 0.1 (k - 1)) = 0.1 E(K - 1)+ + 0.1 P(K > 1).
TEST(BrokenParts, SpeedsWithFewerHostsAreWeighed) {
  auto model = run_of({spared(1, 0, 1)}, ln2, 0);
  model.elastic = true;
  model.spares = 1;
  model.speeds = {0.8};
  model.share_of_host = 0.1;
  EXPECT_NEAR(missing_speed(model), 0.1 * std::exp(-1) + 0.1 * (1 - 2 * std::exp(-1)), 1e-6);
  EXPECT_EQ(model.speed_without(0), 1);
  EXPECT_EQ(model.speed_without(1), 0.8);
  EXPECT_NEAR(model.speed_without(3), 0.6, 1e-12);
  EXPECT_EQ(model.speed_without(20), 0);
}

// Without failures an interval of 3 s has 1 s beside the checkpoint before it, at half the speed, and a stall of 1 s:
// 2.5 of 4 s.
TEST(BrokenParts, WritingSlowsTraining) {
  auto model = run_of({}, 3, 1, 1);
  model.speed_while_writing = 0.5;
  const auto shares = expected_shares(model);
  EXPECT_NEAR(shares.useful, 2.5 / 4, 1e-12);
  EXPECT_NEAR(shares.beside_writing, 0.5 / 4, 1e-12);
  EXPECT_NEAR(test::sum(shares), 1, 1e-12);
}

// lambda (tau + C) = lambda W = ln 2: an up time saves N = (1/2)(1/2)/(1 - 1/2) = 1/2 intervals, 1/4 of them first
// ones, which nothing slowed: tau (1/2 - (1/2)(1/4)) for speed 1/2 and W = tau.
TEST(BrokenParts, TheFirstIntervalAfterAFailureIsNotSlowed) {
  auto model = run_of({cause(1)}, ln2, 0, ln2);
  model.speed_while_writing = 0.5;
  const auto shares = expected_shares(model);
  EXPECT_NEAR(shares.useful, ln2 * (0.5 - 0.5 * 0.25), 1e-12);
  EXPECT_NEAR(test::sum(shares), 1, 1e-12);
}

/// The formula lies inside an interval that holds it 999 times of 1000.
void expect_agreement(const goodput::RunModel& model) {
  const auto study = study_goodput(model, 60, 7, Seconds(2e7));
  const auto &mean = study.simulated.mean, &expected = study.expected;
  EXPECT_NEAR(mean.useful, expected.useful, study.simulated.half_width / 1.96 * 3.3);
  EXPECT_NEAR(test::sum(mean), 1, 1e-9);
  EXPECT_NEAR(test::sum(expected), 1, 1e-12);
  EXPECT_NEAR(mean.beside_writing, expected.beside_writing, 0.03 * expected.beside_writing);
  for (std::size_t i = 0; i < model.causes.size(); ++i) {
    EXPECT_NEAR(mean.causes[i].slower, expected.causes[i].slower, 0.03 * expected.causes[i].slower) << i;
    EXPECT_NEAR(mean.causes[i].losses, expected.causes[i].losses, 0.03 * expected.causes[i].losses) << i;
  }
}

TEST(BrokenParts, SimulatedRunsAgree) {
  expect_agreement(run_of({cause(1e-4, 600), goes_on(2e-4, 0.8, 3000), goes_on(1e-4, 0.5, 2000)}, 900, 60));
}

TEST(BrokenParts, SimulatedRunsAgreeBesideWriting) {
  auto model = run_of({cause(1e-4, 600)}, 3000, 20, 2500);
  model.speed_while_writing = 0.7;
  expect_agreement(model);
}

TEST(BrokenParts, SharesAddUpWithEverythingAtOnce) {
  auto model = run_of({cause(1e-4, 600), goes_on(2e-4, 0.8, 3000), spared(1e-4, 600, 40000), planned(1e-5, 600)}, 3000,
                      20, 2500);
  model.speed_while_writing = 0.8;
  model.elastic = true;
  model.spares = 2;
  model.speeds = {0.97};
  model.share_of_host = 0.03;
  EXPECT_NEAR(test::sum(expected_shares(model)), 1, 1e-12);
  EXPECT_NEAR(test::sum(simulate_run(model, Seconds(1e6), 3)), 1, 1e-9);
}

/// Training goes slower, so a longer interval loses more work; no other interval does better.
TEST(BrokenParts, TheBestIntervalBesideWritingIsBest) {
  auto model = run_of({cause(1e-4, 600)}, 1, 20, 1000);
  model.speed_while_writing = 0.7;
  const auto best = best_interval(model);
  EXPECT_GT(best, model.least_interval());
  for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
    if (factor * best >= model.least_interval()) {
      EXPECT_GT(expected_shares(model, best).useful, expected_shares(model, factor * best).useful) << factor;
    }
  }
}

// Every number of spares tried: the best has the most useful time of a chip, spares included.
TEST(Spares, TheBestNumberIsTheBestOfAll) {
  const goodput::Machines machines{800, 100, 8};
  for (const double load : {0.3, 2.0, 6.0, 150.0}) {  // more in repair than the 100 hosts, too
    auto model = run_of({spared(1e-4, 600, load * 1e4)}, 900, 60);
    model.share_of_host = 0.01;
    const auto study = study_goodput(model, 2, 1, Seconds(1e5), machines);
    ASSERT_TRUE(study.spares.has_value());
    for (const bool elastic : {false, true}) {
      const auto& best = elastic ? study.spares->best_elastic : study.spares->best_waiting;
      model.elastic = elastic;
      for (std::int64_t spares = 0; spares <= 400; ++spares) {
        model.spares = spares;
        const double of_a_chip = expected_shares(model).useful * 800.0 / (800.0 + 8.0 * static_cast<double>(spares));
        EXPECT_LE(of_a_chip, best.of_a_chip + 1e-15) << spares;
        if (spares == best.spares) {
          EXPECT_NEAR(of_a_chip, best.of_a_chip, 1e-15);
        }
      }
    }
    if (load < 100) {
      EXPECT_LE(study.spares->best_elastic.spares, study.spares->best_waiting.spares);
    }
    EXPECT_EQ(study.spares->rows.front().waiting.spares, 0);
  }
}

TEST(Spares, NoneAreStudiedWhereTheyHelpNobody) {
  EXPECT_FALSE(study_goodput(run_of({cause(1e-4, 600)}, 900, 60), 2, 1, Seconds(1e5), {8, 1, 8}).spares.has_value());
}

}  // namespace
}  // namespace lockstep
