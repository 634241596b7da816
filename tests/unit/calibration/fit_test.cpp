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
  EXPECT_FALSE(made.parameters[0].kept);
  EXPECT_TRUE(made.parameters[1].kept);
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
  EXPECT_TRUE(made.parameters[0].kept);
  EXPECT_EQ(made.after, 0);
}

}  // namespace
}  // namespace lockstep::test
