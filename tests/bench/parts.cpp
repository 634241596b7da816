// The parts of a run before the engine, on LLaMA-3 70B and a full pod (Google Benchmark).
#include <benchmark/benchmark.h>

#include "sim/collectives/algorithms.hpp"
#include "sim/program/fold.hpp"
#include "sim/program/refine.hpp"
#include "sim/simulate.hpp"
#include "tests/source_dir.hpp"

namespace {

using namespace lockstep;

scenario::Scenario pod() { return scenario::load_scenario(std::string(source_dir) + "/scenarios/llama3-70b-v5p.yaml"); }

scenario::Scenario pod_with_a_slow_chip() {
  auto scenario = pod();
  scenario.perturbations = {program::SlowChip{{3, 0, 7}, false, 1.5}};
  return scenario;
}

void load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(pod());
}

void build_cluster(benchmark::State& state) {
  const auto scenario = pod();
  for (auto _ : state) benchmark::DoNotOptimize(build_cluster(scenario.cluster));
}

void prepare_step(benchmark::State& state) {
  const auto scenario = pod();
  for (auto _ : state) benchmark::DoNotOptimize(preparation::prepare_step(scenario));
}

void make_communicators(benchmark::State& state) {
  const auto preparation = preparation::prepare_step(pod());
  const auto& mesh = *preparation.machine.mesh;
  for (auto _ : state) {
    for (const auto& axis : mesh.axes()) {
      const collectives::GroupNetwork groups(*preparation.machine.cluster, mesh, {axis.name});
      benchmark::DoNotOptimize(&groups.communicator(collectives::network::torus()));
    }
  }
}

void lower_step(benchmark::State& state) {
  const auto scenario = pod();
  const auto preparation = preparation::prepare_step(scenario);
  for (auto _ : state) benchmark::DoNotOptimize(lower_with_perturbations(scenario, preparation));
}

template <scenario::Scenario (*make)()>
void fold_step(benchmark::State& state) {
  const auto scenario = make();
  const auto whole = lower_with_perturbations(scenario, preparation::prepare_step(scenario));
  for (auto _ : state) benchmark::DoNotOptimize(fold(whole));
  state.counters["rank classes"] = fold(whole).ranks.count();
}

BENCHMARK(load)->Unit(benchmark::kMillisecond);
BENCHMARK(build_cluster)->Unit(benchmark::kMillisecond);
BENCHMARK(prepare_step)->Unit(benchmark::kMillisecond);
BENCHMARK(make_communicators)->Unit(benchmark::kMillisecond);
BENCHMARK(lower_step)->Unit(benchmark::kMillisecond);
BENCHMARK(fold_step<pod>)->Unit(benchmark::kMillisecond);
BENCHMARK(fold_step<pod_with_a_slow_chip>)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
