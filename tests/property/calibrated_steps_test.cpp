// What collectives and the host cost kernels is a limit or a rate that no kernel changes for another. So a calibrated step with more
// to do is no shorter than without, whatever that is: T(more) >= T.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/simulate.hpp"
#include "tests/property/random_scenarios.hpp"

namespace lockstep {
namespace {

using test::RandomScenario;

/// LOCKSTEP_RANDOM_SCENARIOS=1000 for a long run.
std::uint64_t count(std::uint64_t usual) {
  const char* wanted = std::getenv("LOCKSTEP_RANDOM_SCENARIOS");
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

FoldedProgram program_of(const RandomScenario& drawn) {
  const auto scenario = drawn.load();
  return fold(lower_with_perturbations(scenario, prepare(scenario)));
}

RandomScenario drawn(std::uint64_t seed) {
  RandomScenario scenario(seed);
  scenario.draw_calibrated();
  return scenario;
}

TEST(CalibratedSteps, MoreToDoTakesNoLess) {
  for (std::uint64_t seed = 1; seed <= count(40); ++seed) {
    const auto scenario = drawn(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + scenario.text());
    const double base_s = test::step_s(program_of(scenario).program);
    const auto expect_no_less = [&](const std::string& key, const std::string& value) {
      auto more = scenario;
      more.set(key, value);
      EXPECT_GE(test::step_s(program_of(more).program), base_s * (1 - 1e-9)) << "with " << key << ": " << value;
    };
    expect_no_less("training.dropout", "true");
    expect_no_less("training.elementwise_traffic", "2.3");
    expect_no_less("training.gradient_clipping", "true");
    expect_no_less("training.step_overhead", "1 ms");
    expect_no_less("model.norms_per_layer", "4");
    expect_no_less("batch.sequence_length", std::to_string(2 * scenario.sequence_length()));
    expect_no_less("batch.sequences", std::to_string(2 * scenario.sequences()));
    expect_no_less("model.layers", std::to_string(2 * scenario.layers()));
  }
}

// Rates half as high again, latencies and launches of two thirds: no longer steps, but for what another order of the same
// operations costs on a stream (Graham's anomaly).
TEST(CalibratedSteps, ABetterMachineTakesNoLonger) {
  constexpr double anomaly = 0.01;
  for (std::uint64_t seed = 1; seed <= count(40); ++seed) {
    const auto scenario = drawn(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + scenario.text());
    const auto loaded = scenario.load();
    const auto preparation = prepare(loaded);
    const auto folded = fold(lower_with_perturbations(loaded, preparation));
    const MachineParameters parameters(loaded, preparation, folded, EngineKind::max_min);
    const double base_s = test::step_s(folded.program);
    for (const auto& parameter : parameters.list()) {
      auto machine = parameters.as_it_is();
      parameter.improve(machine, 1.5);
      EXPECT_LE(test::step_s(parameters.program_on(machine)), base_s * (1 + anomaly)) << parameter.name;
    }
  }
}

// The reproducer of an audit: a model of two layers on eight ways of tensor parallelism, once 0.5 % shorter with dropout.
TEST(CalibratedSteps, DropoutOfATensorParallelLayerTakesTime) {
  RandomScenario scenario(0);
  for (const auto& [key, value] : std::vector<KeyOverride>{{"model", "{layers: 2, d_model: 8192, d_ff: 28672, heads: 64, kv_heads: 8, vocabulary: 128256}"},
                                                           {"cluster", "h100:1"}, {"mesh", "{tensor: [gpu]}"}, {"parallel", "{tensor: 8}"},
                                                           {"batch", "{sequences: 1, sequence_length: 4096}"}, {"model_of_time", "calibrated"}}) {
    scenario.set(key, value);
  }
  const double without_s = test::step_s(program_of(scenario).program);
  scenario.set("training.dropout", "true");
  EXPECT_GT(test::step_s(program_of(scenario).program), without_s * 1.001);
}

}  // namespace
}  // namespace lockstep
