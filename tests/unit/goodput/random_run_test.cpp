// Relations that hold for every run: shares add up, and what is better for a run never makes its goodput smaller. The
// last is what `plan --for-run` proves its choice by.
#include <gtest/gtest.h>

#include <random>

#include "sim/studies/goodput/simulated_run.hpp"
#include "tests/unit/goodput/small_run.hpp"

namespace lockstep {
namespace {

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}
  double between(double least, double most) { return std::uniform_real_distribution<double>(least, most)(random_); }
  bool coin() { return between(0, 1) < 0.5; }
  std::int64_t whole(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

 private:
  std::mt19937 random_;
};

goodput::RunModel random_run(std::uint32_t seed) {
  Draws draw(seed);
  std::vector<goodput::Cause> causes;
  const auto rate = [&] { return draw.between(1e-6, 1e-4); };
  for (auto number = draw.whole(1, 3); number > 0; --number)
    causes.push_back(draw.coin() ? test::cause(rate(), draw.between(0, 2000), draw.coin() ? draw.between(0, 3000) : 0)
                                 : test::spared(rate(), draw.between(0, 2000), draw.between(0, 60000)));
  if (draw.coin()) causes.push_back(test::planned(rate(), draw.between(0, 2000)));
  for (auto number = draw.whole(0, 3); number > 0; --number)
    causes.push_back(test::goes_on(rate(), draw.between(0.3, 1), draw.between(0, 50000)));
  const double interval = draw.between(200, 5000);
  const bool asynchronous = draw.coin();
  auto model = test::run_of(std::move(causes), interval, draw.between(0, 200), asynchronous ? interval / 2 : 0);
  if (asynchronous) model.speed_while_writing = draw.between(0.5, 1);
  model.elastic = draw.coin();
  model.spares = draw.whole(0, 4);
  model.share_of_host = draw.between(0, 0.2);
  if (draw.coin()) model.speeds = {1 - 0.9 * model.share_of_host, 1 - 1.9 * model.share_of_host};
  model.reshard = Seconds(draw.between(0, 500));
  return model;
}

class RandomRun : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomRun, SharesAddUp) {
  const auto model = random_run(GetParam());
  const auto expected = expected_shares(model);
  EXPECT_NEAR(test::sum(expected), 1, 1e-9);
  EXPECT_GE(expected.useful, 0);
  EXPECT_LE(expected.useful, 1);
  EXPECT_NEAR(test::sum(simulate_run(model, Seconds(3e6), GetParam())), 1, 1e-9);
}

TEST_P(RandomRun, IsNeverWorseForWhatIsBetter) {
  const auto model = random_run(GetParam());
  const double useful = expected_shares(model).useful;
  const auto not_worse = [&](const char* what, const auto& change) {
    auto better = model;
    change(better);
    EXPECT_GE(expected_shares(better).useful, useful * (1 - 1e-12)) << what;
  };
  not_worse("a shorter stall", [](auto& run) { run.stall = run.stall * 0.5; });
  not_worse("a checkpoint that is safe earlier", [](auto& run) { run.until_durable = run.until_durable * 0.5; });
  not_worse("writing that slows nothing", [](auto& run) { run.speed_while_writing = 1; });
  not_worse("speeds of a whole machine", [](auto& run) {
    run.share_of_host = 0;
    run.speeds.clear();
  });
  not_worse("shorter recoveries", [](auto& run) {
    for (auto& cause : run.causes) cause.recovery = cause.recovery * 0.5;
  });
  not_worse("broken parts that slow nothing", [](auto& run) {
    for (auto& cause : run.causes) cause.speed = 1;
  });
  not_worse("the best interval", [](auto& run) { run.interval = best_interval(run); });
  not_worse("one more spare", [](auto& run) { ++run.spares; });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRun, testing::Range(0U, 60U));

}  // namespace
}  // namespace lockstep
