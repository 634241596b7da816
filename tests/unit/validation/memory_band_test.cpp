// The band of a peak: with residuals r = measured / predicted, each of weight 1 / sqrt(rows of its source), from the
// 10th to the 90th percentile of log r, widened about the median by 1 + doubt / sources until peaks lie in bands made
// without their source.
#include "sim/studies/validation/memory_band.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

using studies::Fit;
using studies::MemoryBands;

// Two sources with the same ten residuals 0.91 to 1.00: each holds all of the other's but those beyond its own 10th and
// 90th percentile, 0.91 and 0.99: nine of ten, more than 80 %, so that nothing is widened.
TEST(MemoryBandTest, SourcesThatAgreeNeedNoWidening) {
  std::vector<double> peaks;
  for (int i = 1; i <= 10; ++i) peaks.push_back(0.9 + 0.01 * i);
  const MemoryBands bands({{"one", "a", peaks, {}}, {"other", "a", peaks, {}}});
  const auto band = bands.band();
  ASSERT_TRUE(band);
  EXPECT_NEAR(band->low, 0.91, 1e-12);
  EXPECT_NEAR(band->high, 0.99, 1e-12);
  EXPECT_EQ(band->rows, 20U);
  EXPECT_EQ(band->sources, 2U);
  EXPECT_NEAR(bands.coverage_of_tables().at("one"), 0.9, 1e-12);
}

// Source one lies at 1.0 and 1.2, the other at 1.1, where its band is a point: the first is held by none, however wide,
// and the second by [1.0, 1.2]. Half of the rows on the mean over sources is all that widening can reach.
TEST(MemoryBandTest, WhatOneSourceCannotKnowWidensNothingForEver) {
  const MemoryBands bands({{"one", "a", {1.0, 1.2}, {}}, {"other", "a", {1.1}, {}}});
  EXPECT_GT(bands.band()->high, 1.2);
  EXPECT_TRUE(std::isfinite(bands.band()->high));
  EXPECT_FALSE(MemoryBands({{"one", "a", {1.0}, {}}}).band("one")) << "there is no other source";
  EXPECT_FALSE(MemoryBands({}).band());
}

// log r of one source is -0.1, 0, 0.1, of the other -0.119, 0, 0.119. The interval of the first holds a third of the
// second, and all of it with a doubt of 0.2: 0.1 (1 + 0.2 / 1) = 0.12. That of both is widened by 1 + 0.2 / 2.
TEST(MemoryBandTest, IsWidenedByDoubtOverSources) {
  const auto peaks = [](double far) { return std::vector<double>{std::exp(-far), 1, std::exp(far)}; };
  const MemoryBands bands({{"one", "a", peaks(0.1), {}}, {"other", "a", peaks(0.119), {}}});
  EXPECT_NEAR(std::log(bands.band()->high), 0.119 * 1.1, 1e-12);
  EXPECT_NEAR(std::log(bands.band()->low), -0.119 * 1.1, 1e-12);
  EXPECT_NEAR(std::log(bands.band("other")->high), 0.12, 1e-12);
  EXPECT_EQ(bands.coverage_of_tables().at("other"), 1);
}

// 19 steps that ran at 0.95 of their predictions' capacities say that they needed at most 0.95 of them; one that was
// predicted to need 1 / 0.7 of its memory and ran is 5 % of 20, more than 3 %: `least` is its 0.7.
TEST(MemoryBandTest, StepsThatRanMoveWhatIsRefused) {
  std::vector<double> ran(19, 1.3);
  ran.insert(ran.begin(), 0.7);
  const MemoryBands with({{"peaks", "a", {1.0, 1.0}, {}}, {"ran", "a", {}, ran}});
  EXPECT_NEAR(with.band()->least, 0.7, 1e-12);
  EXPECT_NEAR(with.band("ran")->least, 1.0, 1e-12);
}

// does not fit: peak x least > capacity; may not fit: peak or peak x high > capacity.
TEST(MemoryBandTest, ThreeVerdicts) {
  const studies::MemoryBand band{0.95, 1.2, 0.9, 40, 3};
  const auto of = [&](std::int64_t peak) { return studies::fit_of(Bytes(peak), Bytes(1080), band); };
  EXPECT_EQ(of(900), Fit::fits);           // 900 x 1.2 = 1080
  EXPECT_EQ(of(901), Fit::may_not_fit);    // more than 1080 at 1.2
  EXPECT_EQ(of(1200), Fit::may_not_fit);   // 1200 x 0.9 = 1080
  EXPECT_EQ(of(1201), Fit::does_not_fit);  // too much even at 0.9
  EXPECT_EQ(studies::fit_of(Bytes(1081), Bytes(1080), {}), Fit::does_not_fit) << "without measured peaks";
}

validation::ValidatedRun step(const std::string& table, double predicted, double capacity, double measured) {
  validation::ValidatedRun run;
  run.run.table = table;
  run.run.family = "a";
  run.predicted_peak_bytes = run.compared_peak_bytes = predicted;
  run.capacity_bytes = capacity;
  if (measured > 0) run.run.peak_bytes = measured;
  run.measured_s = run.predicted_s = 1;
  return run;
}

// Equal steps count once; of those without a measured peak only nearly full ones say something.
TEST(MemoryBandTest, FamiliesOfValidatedSteps) {
  const auto families = validation::memory_families(
      {step("t", 50, 100, 55), step("t", 50, 100, 55), step("t", 90, 100, 0), step("t", 79, 100, 0)});
  ASSERT_EQ(families.size(), 1U);
  EXPECT_THAT(families[0].peaks, testing::ElementsAre(testing::DoubleEq(1.1)));
  EXPECT_THAT(families[0].ran, testing::ElementsAre(testing::DoubleEq(100.0 / 90)));
}

TEST(MemoryBandTest, AFileKeepsWhatIsWrittenAndNamesItsMistakes) {
  const auto file = std::filesystem::temp_directory_path() / "lockstep_memory_families.csv";
  std::ofstream(file) << validation::memory_families_csv({{"t", "a, b", {0.9, 1.25}, {}}, {"u", "c", {}, {1.5}}});
  const auto read = studies::read_memory_families(file);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].name, "a, b");
  EXPECT_THAT(read[0].peaks, testing::ElementsAre(0.9, 1.25));
  EXPECT_THAT(read[1].ran, testing::ElementsAre(1.5));
  std::ofstream(file) << "table,family,measured_over_predicted,capacity_over_predicted\nt,a,0.9 many,\nt,a,,-1\n";
  try {
    (void)studies::read_memory_families(file);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 2U);
  }
  std::filesystem::remove(file);
}

// The catalog's own: four of five peaks of a source lie in the band made without it, on the mean over the sources.
TEST(MemoryBandTest, TheCatalogsBandHoldsWhatItHasNotSeen) {
  const MemoryBands bands(
      studies::read_memory_families(std::filesystem::path(source_dir) / "topologies/catalog/validated_memory.csv"));
  const auto held = bands.coverage_of_tables();
  ASSERT_GE(held.size(), 3U);
  double sum = 0;
  for (const auto& [table, share] : held) {
    sum += share;
    EXPECT_GE(share, 0.5) << table;
  }
  EXPECT_GE(sum / static_cast<double>(held.size()), studies::memory_band_share);
}

}  // namespace
}  // namespace lockstep
