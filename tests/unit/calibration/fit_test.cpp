// fit: least squares of log(predicted / measured) over bounded parameters.
#include "sim/studies/calibration/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::test {
namespace {

// time = a + x / b: an affine law with a start of 5 and a rate of 20, measured at five places, is found from afar.
TEST(Fit, FindsTheStartAndTheRateOfALine) {
  const std::vector<double> places{1, 10, 100, 1000, 10000};
  const auto errors = [&](const std::vector<double>& values) {
    std::vector<double> logs;
    for (const double x : places) logs.push_back(std::log((values[0] + x / values[1]) / (5 + x / 20)));
    return logs;
  };
  const auto made = calibration::fit({{"start", 1, 0, 100}, {"rate", 1, 0.01, 1000}}, errors);
  EXPECT_NEAR(made.parameters[0].after, 5, 1e-3);
  EXPECT_NEAR(made.parameters[1].after, 20, 1e-2);
  EXPECT_LT(made.after, 1e-4);
  EXPECT_GT(made.before, 0.1);
}

// Nothing depends on the second parameter: it stays, and the answer says so.
TEST(Fit, KeepsWhatNothingDependsOn) {
  const auto made =
      calibration::fit({{"used", 1, 0.1, 10}, {"unused", 3, 0.1, 10}},
                       [](const std::vector<double>& values) { return std::vector{std::log(values[0] / 2)}; });
  EXPECT_NEAR(made.parameters[0].after, 2, 1e-4);
  EXPECT_FALSE(made.parameters[0].kept());
  EXPECT_TRUE(made.parameters[1].kept());
  EXPECT_EQ(made.parameters[1].after, 3);
}

// The best share is 1.5, and shares end at 1.
TEST(Fit, SaysWhereAParameterWantsToLeaveItsRange) {
  const auto made = calibration::fit({{"share", 0.5, 0.01, 1}}, [](const std::vector<double>& values) {
    return std::vector{std::log(values[0] / 1.5)};
  });
  EXPECT_NEAR(made.parameters[0].after, 1, 1e-4);
  EXPECT_TRUE(made.parameters[0].at_limit);
}

// Two rows that contradict each other by a factor of four: the best is between, and the error that is left is log 2.
TEST(Fit, LeavesWhatCannotBeFitted) {
  const auto made = calibration::fit({{"a", 3, 0.1, 10}}, [](const std::vector<double>& values) {
    return std::vector{std::log(values[0] / 1), std::log(values[0] / 4)};
  });
  EXPECT_NEAR(made.parameters[0].after, 2, 1e-4);
  EXPECT_NEAR(made.after, std::log(2), 1e-6);
}

TEST(Fit, OfNoRowsKeepsEverything) {
  const auto made =
      calibration::fit({{"a", 3, 0.1, 10}}, [](const std::vector<double>&) { return std::vector<double>{}; });
  EXPECT_TRUE(made.parameters[0].kept());
  EXPECT_EQ(made.after, 0);
}

// log error = log(a / 2) + 1e-3 log(b / 5): a tenth of b moves the error of the best fit by 1e-4, too little to say
// where b belongs. It is put back where it was, and a alone makes the error zero: a = 2 (5 / 3)^0.001.
TEST(Fit, PutsBackWhatIsHardlyDetermined) {
  const auto made = calibration::fit({{"a", 1, 0.1, 10}, {"b", 3, 0.1, 10}}, [](const std::vector<double>& values) {
    return std::vector{std::log(values[0] / 2) + 1e-3 * std::log(values[1] / 5)};
  });
  EXPECT_EQ(made.parameters[1].after, 3);
  EXPECT_EQ(made.parameters[1].kept_because, "hardly determined");
  EXPECT_NEAR(made.parameters[0].after, 2 * std::pow(5.0 / 3, 0.001), 1e-4);
  EXPECT_FALSE(made.parameters[0].kept());
}

TEST(Fit, LeavesFixedParametersAlone) {
  const auto made = calibration::fit({{"a", 1, 0.1, 10}, {"b", 30, 0.1, 10, 0, "no row of it"}},
                                     [](const std::vector<double>& values) {
                                       return std::vector{std::log(values[0] / 2) + std::log(values[1] / 30)};
                                     });
  EXPECT_EQ(made.parameters[1].after, 30) << "not even drawn into its range";
  EXPECT_EQ(made.parameters[1].kept_because, "no row of it");
  EXPECT_NEAR(made.parameters[0].after, 2, 1e-4);
}

// n steps that all take e^0.3 times the prediction, of a machine whose parameter varies by 0.1 and steps by 0.2: the
// shrunk mean 0.3 n / (n + (0.2 / 0.1)^2).
TEST(FitFromPrior, ShrinksTheMeanOfFewSteps) {
  for (const int steps : {1, 3, 12, 1000}) {
    const auto made = calibration::fit_from_prior(
        {{"slowness", 1, 0.1, 10, 0.1}},
        [&](const std::vector<double>& values) {
          return std::vector<double>(static_cast<std::size_t>(steps), std::log(values[0]) - 0.3);
        },
        0.2);
    EXPECT_NEAR(std::log(made.parameters[0].after), 0.3 * steps / (steps + 4), 1e-9) << steps;
    EXPECT_NEAR(made.before, 0.3, 1e-12);
    EXPECT_NEAR(made.after, 0.3 - 0.3 * steps / (steps + 4), 1e-9);
  }
}

// time = x / a + b at places that tell a from b: with ever more certain steps the priors no longer matter.
TEST(FitFromPrior, FollowsCertainSteps) {
  const std::vector<double> places{1, 10, 100};
  const auto errors = [&](const std::vector<double>& values) {
    std::vector<double> logs;
    for (const double x : places) logs.push_back(std::log((x / values[0] + values[1]) / (x / 0.8 + 2)));
    return logs;
  };
  const auto made = calibration::fit_from_prior({{"a", 0.7, 0.1, 1, 0.1}, {"b", 1.5, 0.1, 100, 0.4}}, errors, 1e-4);
  EXPECT_NEAR(made.parameters[0].after, 0.8, 1e-3);
  EXPECT_NEAR(made.parameters[1].after, 2, 0.01);
}

// A parameter that no step depends on stays, one that wants to leave its range ends at it.
TEST(FitFromPrior, KeepsAndLimits) {
  const auto made = calibration::fit_from_prior(
      {{"share", 0.9, 0.1, 1, 0.5}, {"unused", 20, 1, 500, 0.4}},
      [](const std::vector<double>& values) { return std::vector{std::log(1.5 / values[0])}; }, 0.01);
  EXPECT_EQ(made.parameters[0].after, 1);
  EXPECT_TRUE(made.parameters[0].at_limit);
  EXPECT_EQ(made.parameters[1].after, 20);
  EXPECT_EQ(made.parameters[1].kept_because, "no row depends on it");
}

}  // namespace
}  // namespace lockstep::test
