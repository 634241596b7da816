// Leave one table out: e + c x + m y of rows with log errors e and responses c, m; x, y least squares over the other
// tables.
#include "sim/studies/validation/leave_one_out.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/studies/validation/expected_error.hpp"

namespace lockstep {
namespace {

validation::ValidatedRun row(const std::string& table, double log_error, validation::Response response,
                             const std::string& chip = "c") {
  validation::ValidatedRun run;
  run.run.table = table;
  run.traits.chip = chip;
  run.response = response;
  run.measured_s = 1;
  run.predicted_s = std::exp(log_error);
  return run;
}

// Tables a and b want matrix units 10 % and 20 % faster (response -1), so without b the scale is 1.1 and b keeps 0.1 of
// its log error; with both, the mean 0.15 leaves 0.05 to each. The little that holds scales in place moves this by a
// thousandth.
TEST(LeaveOneOut, TheOthersDecide) {
  const auto made = validation::leave_one_out({row("a", 0.1, {-1, 0}), row("b", 0.2, {-1, 0}), row("b", 0.2, {-1, 0})});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[1].table, "b");
  EXPECT_NEAR(made[1].as_is.mean_abs, std::exp(0.2) - 1, 1e-12);
  EXPECT_NEAR(made[1].left_out.mean_abs, std::exp(0.1) - 1, 1e-3);
  EXPECT_NEAR(made[1].fitted.mean_abs, std::exp(0.05) - 1, 1e-3);
  EXPECT_NEAR(made[1].compute, std::exp(0.1), 1e-3);
  EXPECT_DOUBLE_EQ(made[1].memory, 1);
}

// Two rows that respond to either alone give both scales.
TEST(LeaveOneOut, ScalesOfTheMatrixUnitAndOfMemory) {
  const auto made =
      validation::leave_one_out({row("a", -0.1, {-1, 0}), row("a", 0.3, {0, -1}), row("b", 0, {-0.5, -0.5})});
  EXPECT_NEAR(made[1].compute, std::exp(-0.1), 1e-3);
  EXPECT_NEAR(made[1].memory, std::exp(0.3), 1e-3);
}

TEST(LeaveOneOut, AChipWithOneTableHasNothingToLeaveOut) {
  EXPECT_TRUE(validation::leave_one_out({row("a", 0.1, {-1, 0}), row("b", 0.1, {-1, 0}, "other")}).empty());
}

validation::ValidatedFamily family(const std::string& name, topologies::Precision precision, bool experts,
                                   std::int64_t chips, double parameters) {
  return {{"c", precision, experts, chips, parameters}, name, 1, 0.05};
}

// 8 to 64 chips are three doublings, as far as another precision; experts count six.
TEST(ExpectedError, TheNearestFamily) {
  const std::vector<validation::ValidatedFamily> families{
      family("small", topologies::Precision::bf16, false, 8, 8e9),
      family("large", topologies::Precision::bf16, false, 1024, 8e9),
      family("8 bits", topologies::Precision::fp8, false, 64, 8e9),
      family("experts", topologies::Precision::bf16, true, 64, 8e9)};
  const auto nearest = [&](topologies::Precision precision, bool experts, std::int64_t chips) {
    return nearest_family(families, {"c", precision, experts, chips, 8e9})->name;
  };
  EXPECT_EQ(nearest(topologies::Precision::bf16, false, 32), "small");
  EXPECT_EQ(nearest(topologies::Precision::bf16, false, 512), "large");
  EXPECT_EQ(nearest(topologies::Precision::fp8, false, 64), "8 bits");
  EXPECT_EQ(nearest(topologies::Precision::bf16, true, 64), "experts");
  EXPECT_EQ(nearest_family(families, {"another", topologies::Precision::bf16, false, 8, 8e9}), nullptr);
}

// Rows of one family on 8 and 32 chips, errors of 10 % and -20 %: 16 chips, 15 %.
TEST(ExpectedError, FamiliesOfRuns) {
  auto first = row("t", std::log(1.1), {}), second = row("t", std::log(0.8), {});
  first.run.family = second.run.family = "f";
  first.traits.chips = 8;
  second.traits.chips = 32;
  const auto made = validation::validated_families({first, second});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].name, "t: f");
  EXPECT_EQ(made[0].traits.chips, 16);
  EXPECT_NEAR(made[0].mean_abs, 0.15, 1e-12);
}

}  // namespace
}  // namespace lockstep
