// Steps as a distribution. Draw k of a step is the step under the perturbations that k seeds, each simulated whole:
//   T_k = T(scenario with every variation at its seed of k),
// the same however many are drawn. With one operation a layer on each of n ranks that all wait for the slowest, a step
// of which C is computing takes
//   T = T_0 + C max(u_1 .. u_n),
// so that the law of T follows from that of u: P(max <= x) = F(x)^n. Extreme-value theory gives its limit,
//   exponential of mean m:  exp(-n e^(-x/m)), Gumbel, of mean m (ln n + 0.5772)
//   Pareto of exponent a:   exp(-n (1 + x/s)^(-a)), Frechet, s = m (a - 1).
#include "sim/step_distribution.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/core/errors.hpp"
#include "sim/simulate.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

/// Layers on chips whose links take no time.
scenario::Scenario on_fast_links(const std::string& mesh, const std::string& shape, const std::string& variations,
                                 const std::string& pipeline = "{}") {
  return scenario::load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios/pipeline_alike.yaml",
                                 {{"cluster.shape", shape},
                                  {"mesh", mesh},
                                  {"parallel", "{}"},
                                  {"pipeline", pipeline},
                                  {"batch", "{sequences: 64, sequence_length: 512, microbatches: 1}"},
                                  {"variations", variations}});
}

Simulation run(const scenario::Scenario& scenario, int steps, DrawnSteps how = DrawnSteps::whole) {
  spdlog::logger log("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.steps = steps;
  options.how_drawn = how;
  return simulate(scenario, options, log);
}

Seconds alone(const scenario::Scenario& scenario) { return run(scenario, 0).metrics.step_time; }

TEST(StepDraws, MeanAndSlowest) {
  const StepDraws draws({Seconds(5), Seconds(1), Seconds(3), Seconds(2)});
  EXPECT_EQ(draws.in_order().front(), Seconds(5));
  EXPECT_EQ(draws.mean(), Seconds(2.75));
  EXPECT_EQ(draws.slowest_of(1), Seconds(2.75));
  // Pairs of 1, 2, 3, 5: their larger ones are 2, 3, 5, 3, 5, 5.
  EXPECT_NEAR(draws.slowest_of(2).value(), 23.0 / 6, 1e-12);
  EXPECT_NEAR(draws.slowest_of(3).value(), (3 + 3 * 5) / 4.0, 1e-12);
  EXPECT_EQ(draws.slowest_of(4), Seconds(5));
  EXPECT_THROW((void)draws.slowest_of(5), InternalError);
}

TEST(StepDistribution, EachDrawIsTheStepUnderItsPerturbations) {
  const std::string variations =
      "[{jitter: 0.05, distribution: lognormal, shape: 1}, {stragglers: 0.1, slowdown: 1.5}, "
      "{flaky_links: 0.1, bandwidth: 0.01}]";
  const auto scenario = scenario::load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios/small.yaml",
                                                {{"variations", variations}});
  const auto simulation = run(scenario, 12);
  ASSERT_TRUE(simulation.distribution);
  const auto& distribution = *simulation.distribution;
  EXPECT_EQ(distribution.healthy, simulation.metrics.step_time);
  EXPECT_FALSE(distribution.by_replica);
  const auto causes = causes_of(scenario);
  ASSERT_EQ(causes.size(), 3U);
  ASSERT_EQ(distribution.alone.size(), 3U);
  for (std::uint64_t draw = 0; draw < 12; ++draw) {
    auto all = scenario;
    for (std::size_t cause = 0; cause < causes.size(); ++cause) {
      all = causes[cause].under(std::move(all), draw);
      EXPECT_EQ(distribution.alone[cause].steps.in_order()[draw], alone(causes[cause].under(scenario, draw)));
      EXPECT_EQ(distribution.alone[cause].name, causes[cause].name);
    }
    EXPECT_EQ(distribution.steps.in_order()[draw], alone(all));
    EXPECT_GE(distribution.steps.in_order()[draw], distribution.healthy);
  }
  EXPECT_LT(distribution.steps.best(), distribution.steps.worst());
  for (const auto& cause : distribution.alone) {
    EXPECT_GT(distribution.added(cause), Seconds(0)) << cause.name;
    EXPECT_LT(cause.steps.mean(), distribution.steps.mean()) << cause.name;
  }
}

TEST(StepDistribution, DependsOnTheSeedAndNotOnTheNumberOfDraws) {
  const auto scenario = on_fast_links("{data: rest}", "[8]", "[{jitter: 0.1, distribution: exponential}]");
  const auto of = [](const scenario::Scenario& from, int steps) {
    return run(from, steps).distribution->steps.in_order();
  };
  const auto ten = of(scenario, 10);
  EXPECT_EQ(ten, of(scenario, 10));
  const auto five = of(scenario, 5);
  EXPECT_TRUE(std::equal(five.begin(), five.end(), ten.begin()));
  EXPECT_NE(ten, of(on_fast_links("{data: rest}", "[8]", "[{jitter: 0.1, distribution: exponential, seed: 2}]"), 10));
}

// Which chips are slow depends on the draw and the chip alone, so other plans on the same cluster meet the same ones.
TEST(StepDistribution, PlansMeetTheSameChips) {
  const std::string variations = "[{stragglers: 0.05, slowdown: 2}]";
  const auto data = on_fast_links("{data: rest}", "[8]", variations);
  const auto tensor = on_fast_links("{tensor: rest}", "[8]", variations);
  const auto one = run(data, 40).distribution->steps, other = run(tensor, 40).distribution->steps;
  int slow = 0;
  for (std::size_t draw = 0; draw < 40; ++draw) {
    const bool is_slow = one.in_order()[draw] > one.best() * 1.5;
    EXPECT_EQ(is_slow, other.in_order()[draw] > other.best() * 1.5) << draw;
    slow += is_slow ? 1 : 0;
  }
  // 1 - 0.95^8 = 34 % of 40 draws have a slow chip: 13.5 on average, deviation 3.
  EXPECT_GE(slow, 4);
  EXPECT_LE(slow, 23);
}

/// Kolmogorov's distance of drawn values from a law.
template <class Law>
double distance(std::vector<double> drawn, Law law) {
  std::sort(drawn.begin(), drawn.end());
  const double count = static_cast<double>(drawn.size());
  double most = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const double at = law(drawn[i]);
    most = std::max({most, at - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - at});
  }
  return most;
}

struct Maxima {
  std::vector<double> excess;  ///< of each draw: (T - T_0) / C
  double expected_mean = 0;
};

/// The largest of 64 drawn excesses, 400 times, read from simulated steps.
Maxima maxima_of(const std::string& jitter) {
  const auto scenario = on_fast_links("{data: rest}", "[4, 4, 4]", "[" + jitter + "]");
  const auto distribution = *run(scenario, 400).distribution;
  auto twice = scenario;
  twice.perturbations.push_back(program::Stragglers{1, 1, 2.0});
  const auto compute = alone(twice) - distribution.healthy;
  Maxima result;
  for (const auto time : distribution.steps.in_order())
    result.excess.push_back((time - distribution.healthy) / compute);
  return result;
}

constexpr double ranks = 64;
/// Kolmogorov: 400 draws of the law itself are further from it than this in one case of a thousand.
const double at_most = 1.95 / std::sqrt(400.0);

TEST(StepDistribution, SlowestOfManyExponentialChipsIsGumbel) {
  const double mean = 0.02;
  const auto maxima = maxima_of("{jitter: 0.02, distribution: exponential}");
  EXPECT_LT(distance(maxima.excess, [&](double x) { return std::pow(1 - std::exp(-x / mean), ranks); }), at_most);
  const auto gumbel = [&](double x) { return std::exp(-ranks * std::exp(-x / mean)); };
  EXPECT_LT(distance(maxima.excess, gumbel), at_most + 0.005);  // the limit is that near at 64
  double sum = 0;
  for (const double excess : maxima.excess) sum += excess;
  const double deviation = mean * std::numbers::pi / std::sqrt(6.0) / 20;  // of the mean of 400
  EXPECT_NEAR(sum / 400, mean * (std::log(ranks) + std::numbers::egamma), 4 * deviation);
  EXPECT_GT(distance(maxima.excess, [&](double x) { return std::exp(-2 * ranks * std::exp(-x / mean)); }), at_most)
      << "the test cannot tell 64 ranks from 128";
}

TEST(StepDistribution, SlowestOfManyHeavyTailedChipsIsFrechet) {
  const double mean = 0.02, exponent = 2.5, scale = mean * (exponent - 1);
  const auto maxima = maxima_of("{jitter: 0.02, distribution: pareto, shape: 2.5}");
  const auto tail = [&](double x) { return std::pow(1 + x / scale, -exponent); };
  EXPECT_LT(distance(maxima.excess, [&](double x) { return std::pow(1 - tail(x), ranks); }), at_most);
  EXPECT_LT(distance(maxima.excess, [&](double x) { return std::exp(-ranks * tail(x)); }), at_most + 0.005);
}

TEST(StepDistribution, RefusesAScenarioInWhichNothingVaries) {
  EXPECT_THROW((void)run(on_fast_links("{data: rest}", "[4]", "[]"), 4), ConfigError);
}

}  // namespace
}  // namespace lockstep
