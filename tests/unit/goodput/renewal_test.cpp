// The renewal formula: useful = lambda tau q e^(-lambda W) / (e^(lambda (tau + C)) - 1) of the time in which failures
// strike.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sim/studies/goodput/renewal.hpp"
#include "tests/unit/goodput/small_run.hpp"

namespace lockstep {
namespace {

using std::numbers::ln2;
using test::cause;
using test::planned;
using test::run_of;
using test::spared;

// lambda tau = ln 2, nothing else costs: ln 2 / (2 - 1).
TEST(Renewal, WorkIsLostAtFailures) {
  const auto shares = expected_shares(run_of({cause(1)}, ln2, 0));
  EXPECT_NEAR(shares.useful, ln2, 1e-12);
  EXPECT_NEAR(shares.causes[0].lost_work, 1 - ln2, 1e-12);
}

// Without failures a planned stop waits for a checkpoint: there is one for each stop at least, and one in a year.
TEST(Renewal, WithoutFailuresThereIsACheckpointForEachPlannedStop) {
  EXPECT_DOUBLE_EQ(best_interval(run_of({planned(1e-5, 60), planned(3e-5, 60)}, 1, 1)).value(), 25000);
  EXPECT_DOUBLE_EQ(best_interval(run_of({}, 1, 1)).value(), 365 * 86400.0);
}

// Of 1e15 hosts in repair all of a run's are missing, whatever the speed with one missing; the answer comes at once.
TEST(Renewal, RepairsWithoutEndAreSummedInBoundedTime) {
  auto model = run_of({spared(1, 0, 1e15)}, 1, 0);
  model.elastic = true;
  model.speeds = {0.9};
  model.share_of_host = 0.1;
  EXPECT_EQ(missing_speed(model), 1);
  model.causes.front().repair = Seconds(1e300);
  EXPECT_EQ(missing_speed(model), 1);
}

// lambda C = ln 2 too: ln 2 / (4 - 1). Half of the intervals come to their checkpoint, an up time stands still there
// for 1/2 x 1/2 / (1 - 1/4) = 1/3 of the time.
TEST(Renewal, CheckpointsCostTimeAndAreLostToo) {
  const auto shares = expected_shares(run_of({cause(1)}, ln2, ln2));
  EXPECT_NEAR(shares.useful, ln2 / 3, 1e-12);
  EXPECT_NEAR(shares.checkpoints, 1.0 / 3, 1e-12);
  EXPECT_NEAR(test::sum(shares), 1, 1e-12);
}

// lambda R = ln 2: half of the recoveries are interrupted, q = 1/2, and half of the time is recovery.
TEST(Renewal, RecoveriesAreInterruptedToo) {
  const auto shares = expected_shares(run_of({cause(1, ln2)}, ln2, 0));
  EXPECT_NEAR(shares.useful, ln2 / 2, 1e-12);
  EXPECT_NEAR(shares.causes[0].recovery, 0.5, 1e-12);
}

// Two causes of equal rate, lambda = 2, one without recovery: q = (1 + e^(-2 R))/2 = 3/4 for 2 R = ln 2.
TEST(Renewal, EachCauseHasItsOwnRecovery) {
  const auto shares = expected_shares(run_of({cause(1), cause(1, ln2 / 2)}, ln2 / 2, 0));
  EXPECT_NEAR(shares.useful, 0.75 * ln2, 1e-12);
  EXPECT_EQ(shares.causes[0].recovery, 0);
  EXPECT_NEAR(shares.causes[1].recovery, 0.25, 1e-12);
  EXPECT_NEAR(shares.causes[0].lost_work, shares.causes[1].lost_work, 1e-12);
}

// lambda W = ln 2: half of the checkpoints are lost while they are written.
TEST(Renewal, AnAsynchronousCheckpointCanBeLost) {
  EXPECT_NEAR(expected_shares(run_of({cause(1)}, ln2, 0, ln2)).useful, ln2 / 2, 1e-12);
}

// Without failures: tau / (tau + C).
TEST(Renewal, WithoutFailuresOnlyCheckpointsCost) {
  const auto shares = expected_shares(run_of({}, 3, 1));
  EXPECT_EQ(shares.useful, 0.75);
  EXPECT_EQ(shares.checkpoints, 0.25);
}

// A stop of 1 s every second that the run is up: half of the time. Nothing is lost.
TEST(Renewal, PlannedStopsLoseNoWork) {
  const auto shares = expected_shares(run_of({planned(1, 1)}, 3, 1));
  EXPECT_EQ(shares.useful, 0.375);
  EXPECT_EQ(shares.causes[0].recovery, 0.5);
  EXPECT_EQ(shares.causes[0].lost_work, 0);
  EXPECT_EQ(shares.causes[0].interruptions, 0.5) << "a second of wall time";
}

// What no spare replaces is waited for: a repair of 1/lambda after every failure doubles the time.
TEST(Renewal, RepairsAreWaitedFor) {
  EXPECT_NEAR(expected_shares(run_of({cause(2, 0, 0.5)}, ln2 / 2, 0)).useful, ln2 / 2, 1e-12);
  EXPECT_NEAR(expected_shares(run_of({spared(2, 0, 0.5)}, ln2 / 2, 0)).useful, ln2 / 2, 1e-12) << "no spares";
}

// Erlang's B of 1 and of 2 servers at load 1 is 1/2 and (1/2)/(1 + 1 + 1/2) = 1/5; B/(1 - B) is 1 and 1/4.
TEST(Renewal, SparesShortenTheWaitByErlangsFormula) {
  EXPECT_NEAR(goodput::wait_for_repair(0, 1), 1, 1e-12);
  EXPECT_NEAR(goodput::wait_for_repair(1, 1), 0.25, 1e-12);
  auto model = run_of({spared(1, 0, 1)}, ln2, 0);
  model.spares = 1;
  EXPECT_NEAR(expected_shares(model).useful, ln2 / 1.25, 1e-12);
  EXPECT_NEAR(expected_shares(model).causes[0].waiting, 0.2, 1e-12);
}

// K Poisson of mean 1: E(K - 1)+ = 1 - 1 + P(0) = 1/e, P(K >= 1) = 1 - 1/e.
TEST(Renewal, ShortageOfPoissonManyHosts) {
  EXPECT_EQ(goodput::shortage(0, 1).missing, 1);
  EXPECT_EQ(goodput::shortage(0, 1).probability, 1);
  EXPECT_NEAR(goodput::shortage(1, 1).missing, std::exp(-1), 1e-12);
  EXPECT_NEAR(goodput::shortage(1, 1).probability, 1 - std::exp(-1), 1e-12);
}

// A host is a tenth of the speed, one is missing on average; every recovery is one with fewer chips, q = e^(-ln 2).
TEST(Renewal, AnElasticRunGoesOnWithFewerChips) {
  auto model = run_of({spared(1, 0, 1)}, ln2, 0);
  model.elastic = true;
  model.share_of_host = 0.1;
  model.reshard = Seconds(ln2);
  const auto shares = expected_shares(model);
  EXPECT_NEAR(shares.useful, 0.9 * ln2 / 2, 1e-12);
  EXPECT_NEAR(shares.fewer_chips, 0.1 * 0.5, 1e-12);
  EXPECT_EQ(shares.causes[0].waiting, 0);
  EXPECT_NEAR(test::sum(shares), 1, 1e-12);
}

TEST(Renewal, SharesAddUp) {
  auto model =
      run_of({cause(1e-4, 300), cause(2e-5, 100, 900), spared(5e-5, 400, 7200), planned(1e-5, 600)}, 700, 9, 80);
  for (const bool elastic : {false, true}) {
    for (const int spares : {0, 1, 5}) {
      model.elastic = elastic;
      model.share_of_host = 0.01;
      model.spares = spares;
      EXPECT_NEAR(test::sum(expected_shares(model)), 1, 1e-12);
    }
  }
}

/// No other interval does better.
TEST(BestInterval, IsTheLargestOfTheFormula) {
  for (const double stall : {1e-4, 1.0, 30.0, 3600.0, 86400.0}) {
    const auto model = run_of({cause(1e-4, 600)}, 1, stall);
    const auto best = best_interval(model);
    const double useful = expected_shares(model, best).useful;
    for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0})
      EXPECT_GT(useful, expected_shares(model, factor * best).useful) << stall << " x " << factor;
  }
}

// (1 - x) e^(x + lambda C) = 1: x^2/2 = lambda C - x^3/3 - ..., so x = s - s^2/3 + O(s^3) with s = sqrt(2 lambda C).
TEST(BestInterval, TendsToYoungs) {
  for (const double s : {0.1, 0.01, 0.001}) {
    const auto model = run_of({cause(1)}, 1, s * s / 2);
    EXPECT_NEAR(first_order_interval(model).value(), s, 1e-12);
    EXPECT_NEAR(best_interval(model).value(), s - s * s / 3, s * s * s);
  }
}

TEST(BestInterval, IsNeverBelowAStepOrTheWritingOfACheckpoint) {
  auto model = run_of({cause(1e-4)}, 1, 0, 50);
  EXPECT_EQ(best_interval(model), Seconds(50));
  model.step = Seconds(70);
  EXPECT_EQ(best_interval(model), Seconds(70));
}

}  // namespace
}  // namespace lockstep
