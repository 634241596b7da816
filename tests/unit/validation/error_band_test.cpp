// The interval in which 80 % of similar measured steps lay: residuals of the first pool with enough rows, and widened
// until sources that were left out are held.
#include "sim/studies/validation/error_band.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tests/unit/scratch_folder.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using validation::ErrorBands;
using validation::Method;
using validation::PoolKind;
using validation::ValidatedFamily;

validation::StepTraits traits(const std::string& generation, Method method, std::int64_t chips = 64,
                              topologies::Precision precision = topologies::Precision::bf16) {
  return {generation + "-chip", generation, precision, method, chips, 8e9, 0.1};
}

/// `count` residuals exp(center + spread z) at evenly spaced normal quantiles z of -1.5 to 1.5, so symmetric in logs.
ValidatedFamily family(const std::string& table, const validation::StepTraits& of, double center, double spread,
                       int count = 12) {
  ValidatedFamily made{of, table, "f", static_cast<std::size_t>(count), {}};
  for (int i = 0; i < count; ++i) made.residuals.push_back(std::exp(center + spread * (3.0 * i / (count - 1) - 1.5)));
  return made;
}

// 3 % apart, 31 rows of one source with residuals exp(-0.15), ..., exp(0.15) in steps of 0.01: the 10th percentile is
// the 4th, exp(-0.12), the 90th the 28th, exp(0.12). With one source nothing can be left out, so nothing is widened.
TEST(ErrorBand, PercentilesOfOneSource) {
  const ErrorBands bands({family("t", traits("a", Method::fsdp), 0, 0.1, 31)});
  const auto band = bands.of(traits("a", Method::fsdp));
  ASSERT_TRUE(band);
  EXPECT_NEAR(band->low, std::exp(-0.12), 1e-9);
  EXPECT_NEAR(band->high, std::exp(0.12), 1e-9);
  EXPECT_EQ(band->rows, 31U);
  EXPECT_EQ(band->sources, 1U);
  EXPECT_EQ(band->pool, "a, fsdp, 16 bits");
  EXPECT_THAT(band->widened, IsEmpty());
}

// Steps of the same method elsewhere count as one source: beside one source of residuals 1 they have half of the
// weight, so the 90th percentile is theirs, exp(0.2); beside ten sources they have 1/11, and it is 1.
TEST(ErrorBand, NeighboursCountAsOneSource) {
  for (const int sources : {1, 10}) {
    std::vector<ValidatedFamily> families{family("u", traits("b", Method::fsdp), 0.2, 0)};
    for (int i = 0; i < sources; ++i)
      families.push_back(family("t" + std::to_string(i), traits("a", Method::fsdp), 0, 0));
    const auto band = ErrorBands(families).of(traits("a", Method::fsdp));
    ASSERT_TRUE(band);
    EXPECT_EQ(band->pool, "a, fsdp, 16 bits");
    EXPECT_EQ(band->low, 1);
    EXPECT_NEAR(band->high, sources == 1 ? std::exp(0.2) : 1, 1e-9) << sources;
  }
}

// The first pool with at least ten rows: of the width, of the method, of other generations, of all.
TEST(ErrorBand, TheFirstPoolWithEnoughRows) {
  const auto fp8 = topologies::Precision::fp8;
  const ErrorBands bands({family("t", traits("a", Method::fsdp), 0, 0.1),
                          family("u", traits("a", Method::fsdp, 8, fp8), 0, 0.1, 9),
                          family("v", traits("b", Method::pipeline), 0, 0.1)});
  EXPECT_EQ(bands.of(traits("a", Method::fsdp))->pool, "a, fsdp, 16 bits");
  EXPECT_EQ(bands.of(traits("a", Method::fsdp, 64, fp8))->pool, "a, fsdp");
  const auto new_generation = bands.of(traits("c", Method::fsdp));
  EXPECT_EQ(new_generation->pool, "fsdp");
  EXPECT_EQ(new_generation->rows, 21U);
  EXPECT_THAT(new_generation->widened, testing::ElementsAre("no step on c was ever measured"));
  EXPECT_THAT(bands.of(traits("b", Method::fsdp))->widened, testing::ElementsAre("no b was measured so"));
  const auto new_method = bands.of(traits("a", Method::experts));
  EXPECT_EQ(new_method->kind, PoolKind::all);
  EXPECT_EQ(new_method->rows, 33U);
  auto tiny = traits("a", Method::fsdp);
  tiny.parameters = 1e8;
  EXPECT_EQ(bands.of(tiny)->pool, "a, fsdp, 16 bits, models of any size");
  EXPECT_FALSE(ErrorBands({}).of(tiny));
}

// Small models are a pool of their own, of whatever method, unless fewer than ten were measured: then a small model
// takes the band of large ones, rather than one of nine rows.
TEST(ErrorBand, FewSmallModelsAreNoPool) {
  auto small = traits("a", Method::pipeline);
  small.parameters = 1e8;
  for (const int measured : {9, 10}) {
    const ErrorBands bands({family("t", traits("a", Method::fsdp), 0, 0.1), family("s", small, 0.5, 0, measured)});
    auto asked = traits("a", Method::fsdp);
    asked.parameters = 2e8;
    const auto band = bands.of(asked);
    ASSERT_TRUE(band);
    EXPECT_EQ(band->pool,
              measured == 9 ? "a, fsdp, 16 bits, models of any size" : "all methods, models below 1e9 parameters");
    EXPECT_EQ(bands.coverage().size(), 2U) << "of the large ones, and of these";
    EXPECT_NEAR(std::log(band->high), measured == 9 ? 0.1 * (3.0 * 10 / 11 - 1.5) : 0.5, 1e-9);
  }
}

// Two sources of one pool, the one exactly right and the other 50 % slow: the pool's interval holds both. One that is
// made of the other source alone does not hold the left-out one, since nothing is left to tell how far sources lie
// apart.
TEST(ErrorBand, CoverageSaysWhichSourceIsNotHeld) {
  const ErrorBands bands(
      {family("t", traits("a", Method::fsdp), 0, 0, 12), family("u", traits("a", Method::fsdp), 0.5, 0, 20)});
  const auto pools = bands.coverage();
  ASSERT_EQ(pools.size(), 1U);
  EXPECT_EQ(pools[0].of_tables.at("t").rows, 12);
  EXPECT_EQ(pools[0].of_tables.at("u").inside, 20);
  EXPECT_EQ(pools[0].of_tables.at("u").left_out, 0);
  EXPECT_EQ(pools[0].all().rows, 32);
  EXPECT_EQ(pools[0].all().inside, 32);
  EXPECT_EQ(pools[0].all().left_out, 0);
}

// Sources whose centers differ by more than they spread: an interval of three of them holds the fourth only when it is
// widened, and it is, until 80 % of the rows that were left out lie inside.
TEST(ErrorBand, IsWidenedUntilLeftOutSourcesAreHeld) {
  const auto of = traits("a", Method::pipeline);
  std::mt19937_64 random(23);
  std::normal_distribution<double> center(0, 0.1);
  std::vector<ValidatedFamily> families;
  for (int source = 0; source < 12; ++source)
    families.push_back(family("t" + std::to_string(source), of, center(random), 0.02));
  const ErrorBands bands(families);
  EXPECT_GT(bands.doubt(PoolKind::width), 0);
  const auto coverage = bands.coverage();
  ASSERT_EQ(coverage.size(), 1U);
  const auto held_of = coverage[0].all();
  EXPECT_GE(held_of.left_out, 0.75 * held_of.rows) << "intervals of eleven sources promise 0.8, and know a little less";
  EXPECT_GE(held_of.inside, held_of.left_out);
  // New sources of the same distribution: 80 % of their rows, as promised, to within what 200 of them can tell.
  const auto band = *bands.of(of);
  double held = 0;
  for (int source = 0; source < 200; ++source) {
    const auto fresh = family("new", of, center(random), 0.02);
    for (const double residual : fresh.residuals) held += band.low <= residual && residual <= band.high ? 1 : 0;
  }
  EXPECT_NEAR(held / 200 / 12, 0.85, 0.15);
}

// Three sources whose 11 rows lie evenly within 0.01 of -0.05, 0 and 0.05. Two of them make an interval of [-0.06,
// 0.01],
// [-0.06, 0.06] or [-0.01, 0.06] but for a tail of its rows; widened by 1 + doubt / 2 it holds the third. All three are
// widened by 1 + doubt / 3, so by less.
TEST(ErrorBand, FewSourcesAreWidenedMore) {
  const auto of = traits("a", Method::pipeline);
  const auto three = [&] {
    std::vector<ValidatedFamily> families;
    for (const double center : {-0.05, 0.0, 0.05})
      families.push_back(family("t" + std::to_string(center), of, center, 0.01 / 1.5, 11));
    return families;
  };
  const ErrorBands bands(three());
  const double doubt = bands.doubt(PoolKind::width);
  ASSERT_GT(doubt, 0);
  // Percentiles 10 and 90 of 33 rows are the 4th of either end, 0.003 x 2 within the outermost: +-0.054.
  const auto band = *bands.of(of);
  EXPECT_NEAR(std::log(band.high), 0.054 * (1 + doubt / 3), 1e-9);
  EXPECT_NEAR(std::log(band.low), -0.054 * (1 + doubt / 3), 1e-9);
}

// The interval does not shrink when less is known, and grows with scale and with waiting beyond what was measured.
TEST(ErrorBand, IsWiderWhereNothingWasMeasured) {
  const ErrorBands bands(
      {family("t", traits("a", Method::fsdp, 128), 0, 0.1), family("u", traits("a", Method::fsdp, 64), 0.05, 0.1)});
  const auto within = *bands.of(traits("a", Method::fsdp, 128));
  const auto larger = *bands.of(traits("a", Method::fsdp, 4096));
  EXPECT_EQ(larger.low, within.low);
  EXPECT_GT(larger.high, within.high);
  EXPECT_THAT(larger.widened, testing::ElementsAre("more chips than the 128 measured"));
  auto waiting = traits("a", Method::fsdp, 128);
  waiting.network = 0.6;  // half of the step more than the 0.1 measured: may take twice as long, 1 + 0.5
  const auto starved = *bands.of(waiting);
  EXPECT_NEAR(starved.high, within.high * 1.5, 1e-9);
  EXPECT_EQ(starved.low, within.low);
}

class ErrorBandFiles : public test::ScratchFolder {};

// What is written is read again, to the four digits that are written; a family of many rows by 19 of its percentiles.
TEST_F(ErrorBandFiles, AreWrittenAndRead) {
  std::vector<validation::ValidatedRun> runs;
  for (int i = 0; i < 100; ++i) {
    validation::ValidatedRun run;
    run.run.table = "t";
    run.run.family = "f, with a comma";
    run.traits = traits("a", Method::torus, i < 50 ? 8 : 32);
    run.measured_s = 1 + i / 100.0;
    run.predicted_s = 1;
    runs.push_back(run);
  }
  const auto made = validated_families(runs);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].rows, 100U);
  EXPECT_EQ(made[0].traits.chips, 32) << "the most of 8 and 32";
  ASSERT_EQ(made[0].residuals.size(), 19U);
  EXPECT_DOUBLE_EQ(made[0].residuals[9], 1.5) << "the middle";
  make("validated.csv", families_csv(made));
  const auto read = validation::read_families(place("validated.csv"));
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(families_csv(read), families_csv(made));
}

TEST_F(ErrorBandFiles, WithoutRatiosAreRefused) {
  make("validated.csv",
       "chip,generation,precision,method,chips,parameters,exposed_share,rows,table,family,"
       "measured_over_predicted\nc,c,bf16,fsdp,8,1e9,,3,t,f,0.9 -1\n");
  try {
    (void)validation::read_families(place("validated.csv"));
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.problems().front().what, HasSubstr("are no ratios"));
  }
}

// Machines of known offsets with steps about them: 8 of exp(+-0.1), steps at normal quantiles of spread 0.02. The
// scatter finds both (its steps by the median deviation, here of evenly spaced quantiles).
TEST(OwnSteps, ScatterTellsMachinesFromSteps) {
  const auto of = traits("a", Method::pipeline);
  std::vector<ValidatedFamily> families;
  for (int machine = 0; machine < 8; ++machine)
    families.push_back(family("t" + std::to_string(machine), of, machine % 2 == 0 ? 0.1 : -0.1, 0.02));
  const auto scatter = ErrorBands(families).scatter(of);
  ASSERT_TRUE(scatter);
  EXPECT_EQ(scatter->machines, 8U);
  EXPECT_EQ(scatter->pool, "a, pipeline, 16 bits");
  EXPECT_NEAR(scatter->machine, 0.1, 0.005);
  EXPECT_NEAR(scatter->step, 0.023, 0.005);
  EXPECT_EQ(scatter->of_the_machine(0), 0);
  EXPECT_NEAR(scatter->of_the_machine(3),
              1 / (1 + scatter->step * scatter->step / (3 * scatter->machine * scatter->machine)), 1e-12);
}

// What three steps of a machine say of its others: where machines differ by far more than their steps, the band shrinks
// to that of steps about their machine; where they do not differ it hardly does.
TEST(OwnSteps, NarrowTheBandWhereMachinesDiffer) {
  const auto of = traits("a", Method::pipeline);
  const auto width = [&](double machines, int steps) {
    std::vector<ValidatedFamily> families;
    for (int machine = 0; machine < 8; ++machine)
      families.push_back(family("t" + std::to_string(machine), of, machines * (machine - 3.5) / 3.5, 0.02));
    const auto band = validation::bands_after_own_steps(families, steps).of(of);
    return std::log(band->high / band->low);
  };
  EXPECT_LT(width(0.2, 3), 0.35 * width(0.2, 0));
  EXPECT_LT(width(0.2, 12), width(0.2, 1));
  EXPECT_NEAR(width(0, 3) / width(0, 0), 1, 0.3);
  EXPECT_EQ(width(0.2, 3), width(0.2, 3)) << "draws are the same every time";
}

}  // namespace
}  // namespace lockstep
