// Nodes of several kinds in the stages of a pipeline, and the layers of each stage: beside every order and every split,
//   bound <= T(any order, any split), T(found) = the least T
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "sim/studies/place_ranks/place_ranks.hpp"
#include "tests/property/silent_log.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace lockstep {
namespace {

using place_ranks::PlaceOptions;
using place_ranks::UnitOrder;
using test::silent;

// Two fast nodes and two slow ones in a pipeline of two stages, in each of their 24 orders: none is below the bound,
// and the best is found, in which those of a kind make a stage.
class Kinds : public test::ScratchFolder {};
TEST_F(Kinds, TheBestOfAllOrdersIsFound) {
  make("job.yaml",
       "format: 1\nmodel: {layers: 12, d_model: 4096, d_ff: 16384, heads: 32, vocabulary: 32000}\n"
       "cluster: {groups: [{node: {like: dgx-h100, chips: 2}, nodes: 2}, {node: {like: dgx-a100, chips: 2}, nodes: "
       "2}]}\n"
       "mesh: {tensor: [gpu], data: [node/2], pipeline: [rest]}\nparallel: {tensor: 2, data: 2, pipeline: 2}\n"
       "pipeline: {layers: by_speed}\nbatch: {sequences: 16, sequence_length: 1024, microbatches: 8}\n");
  auto scenario = scenario::load_scenario(place("job.yaml"));
  const auto bound = place_ranks::placement_bound(scenario).time;
  UnitOrder order{0, 1, 2, 3}, worst;
  Seconds best(1e9), longest(0);
  do {
    auto other = scenario;
    other.cluster = place_ranks::with_order(other.cluster, order);
    SimulateOptions options;
    options.engine = engine::EngineKind::max_min;
    options.detail = Detail::totals;
    const auto step = simulate(other, options, silent()).metrics.step_time;
    EXPECT_GE(step, bound);
    best = std::min(best, step);
    if (step > longest) longest = step, worst = order;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_GT(longest, best * 1.1);
  EXPECT_GT(bound, best * 0.45) << "the stages' mean at the speed of the fastest chips is 0.41 of it";
  scenario.cluster = place_ranks::with_order(scenario.cluster, worst);
  PlaceOptions options;
  options.moves = 24;
  options.engine = engine::EngineKind::max_min;
  EXPECT_NEAR(place_ranks::place_ranks(scenario, options, silent()).best.step.value(), best.value(),
              1e-9 * best.value());
}

// Of f fast nodes and s slow ones, p stages of (f + s) / p nodes in every arrangement: none is below the bound, which
// counts a stage with a slow node as slow and takes the best split of work over stages.
TEST_F(Kinds, NoArrangementIsBelowTheBound) {
  struct Case {
    int fast, slow, stages;
  };
  for (const auto& [fast, slow, stages] : {Case{1, 3, 2}, {3, 1, 2}, {2, 1, 3}, {4, 2, 3}, {1, 2, 3}, {3, 3, 2}}) {
    const int replicas = (fast + slow) / stages;
    const auto number = [](int n) { return std::to_string(n); };
    make("job.yaml",
         "format: 1\nmodel: {layers: 12, d_model: 4096, d_ff: 16384, heads: 32, vocabulary: 32000}\n"
         "cluster: {groups: [{node: {like: dgx-h100, chips: 2}, nodes: " +
             number(fast) + "}, {node: {like: dgx-a100, chips: 2}, nodes: " + number(slow) +
             "}]}\nmesh: {tensor: [gpu], data: [node/" + number(replicas) +
             "], pipeline: [rest]}\nparallel: {tensor: 2, data: " + number(replicas) + ", pipeline: " + number(stages) +
             "}\npipeline: {layers: by_speed}\nbatch: {sequences: " + number(8 * replicas) +
             ", sequence_length: 1024, microbatches: 8}\n");
    const auto scenario = scenario::load_scenario(place("job.yaml"));
    const auto bound = place_ranks::placement_bound(scenario).time;
    std::vector<int> is_slow(static_cast<std::size_t>(fast), 0);
    is_slow.insert(is_slow.end(), static_cast<std::size_t>(slow), 1);
    do {
      UnitOrder order;
      int next_fast = 0, next_slow = fast;
      for (const int one : is_slow) order.push_back(one == 0 ? next_fast++ : next_slow++);
      auto other = scenario;
      other.cluster = place_ranks::with_order(other.cluster, order);
      SimulateOptions options;
      options.engine = engine::EngineKind::max_min;
      options.detail = Detail::totals;
      EXPECT_GE(simulate(other, options, silent()).metrics.step_time, bound) << fast << ' ' << slow << ' ' << stages;
    } while (std::next_permutation(is_slow.begin(), is_slow.end()));
  }
}

void visit_splits(std::int64_t layers, std::size_t stages, place_ranks::StageLayers& before,
                  const std::function<void(const place_ranks::StageLayers&)>& visit) {
  if (before.size() + 1 == stages) {
    before.push_back(layers);
    visit(before);
    before.pop_back();
    return;
  }
  for (std::int64_t own = 1; own + static_cast<std::int64_t>(stages - before.size() - 1) <= layers; ++own) {
    before.push_back(own);
    visit_splits(layers - own, stages, before, visit);
    before.pop_back();
  }
}

// Nine layers over stages with an embedding and a head, from an even split or that of by_speed, on one kind of node or
// two: no split is below the bound, and one layer after the other leads to the best of all splits.
TEST_F(Kinds, TheBestOfAllSplitsOfLayersIsFound) {
  struct Case {
    std::string groups, layers;
    int stages, microbatches;
    std::string vocabulary;
  };
  const std::string same = "{node: {like: dgx-h100, chips: 2}, nodes: 2}";
  const std::string fast = "{node: {like: dgx-h100, chips: 2}, nodes: 1}",
                    slow = "{node: {like: dgx-a100, chips: 2}, nodes: ";
  for (const auto& [groups, layers, stages, microbatches, vocabulary] :
       {Case{fast + ", " + slow + "1}", "[4, 5]", 2, 4, "32000"},
        {fast + ", " + slow + "2}", "[3, 3, 3]", 3, 8, "128000"},
        {fast + ", " + slow + "2}", "by_speed", 3, 8, "128000"},
        {fast + ", " + slow + "3}", "[2, 2, 2, 3]", 4, 6, "64000"},
        {same + ", " + slow + "2}", "by_speed", 4, 4, "256000"}}) {
    const auto number = [](int n) { return std::to_string(n); };
    make("job.yaml",
         "format: 1\nmodel: {layers: 9, d_model: 4096, d_ff: 16384, heads: 32, vocabulary: " + vocabulary +
             "}\ncluster: {groups: [" + groups +
             "]}\nmesh: {tensor: [gpu], pipeline: [node]}\nparallel: {tensor: 2, pipeline: " + number(stages) +
             "}\npipeline: {layers: " + layers + "}\nbatch: {sequences: " + number(microbatches) +
             ", sequence_length: 1024, microbatches: " + number(microbatches) + "}\n");
    const auto scenario = scenario::load_scenario(place("job.yaml"));
    PlaceOptions options;
    options.moves = 100;
    options.layers = true;
    options.engine = engine::EngineKind::max_min;
    const auto found = place_ranks::place_ranks(scenario, options, silent());
    EXPECT_LE(found.best.step, found.with_given_layers);
    auto ordered = scenario;
    ordered.cluster = place_ranks::with_order(ordered.cluster, found.best.order);
    Seconds best(1e9), own(0);
    place_ranks::StageLayers none;
    visit_splits(9, static_cast<std::size_t>(stages), none, [&](const place_ranks::StageLayers& split) {
      SimulateOptions simulated;
      simulated.engine = engine::EngineKind::max_min;
      simulated.detail = Detail::totals;
      const auto step = simulate(place_ranks::with_layers(ordered, split), simulated, silent()).metrics.step_time;
      EXPECT_GE(step, found.bound.time);
      best = std::min(best, step);
      if (split == found.layers) own = step;
    });
    EXPECT_EQ(own, found.best.step);
    EXPECT_LE(found.best.step, best * (1 + 1e-9)) << groups << ' ' << layers;
  }
}

// What a step waits for in the order and with the layers that were found makes up its step, and a network without
// limits makes it no longer, but for the order of events:
//   compute + idle + sum over axes of exposed = T(best)
TEST_F(Kinds, TheUseIsThatOfTheLayersFound) {
  make("job.yaml",
       "format: 1\nmodel: {layers: 9, d_model: 4096, d_ff: 16384, heads: 32, vocabulary: 128000}\n"
       "cluster: {groups: [{node: {like: dgx-h100, chips: 2}, nodes: 1}, {node: {like: dgx-a100, chips: 2}, nodes: "
       "2}]}\nmesh: {tensor: [gpu], pipeline: [node]}\nparallel: {tensor: 2, pipeline: 3}\n"
       "pipeline: {layers: [3, 3, 3]}\nbatch: {sequences: 8, sequence_length: 1024, microbatches: 8}\n");
  PlaceOptions options;
  options.moves = 20;
  options.layers = true;
  options.explained = true;
  options.engine = engine::EngineKind::max_min;
  const auto found = place_ranks::place_ranks(scenario::load_scenario(place("job.yaml")), options, silent());
  ASSERT_TRUE(found.has_other_layers());
  EXPECT_LT(found.best.step, found.with_given_layers * 0.99) << "with the given layers the sum below would be another";
  ASSERT_TRUE(found.use);
  auto sum = found.use->best.compute + found.use->best.idle;
  for (const auto& [name, axis] : found.use->best.axes) sum += axis.exposed;
  EXPECT_NEAR(sum / found.best.step, 1, 1e-9);
  EXPECT_LE(found.use->without_limits, found.best.step * 1.01);
}

TEST_F(Kinds, LayersThatCannotBeSplitAreRefused) {
  const std::string head =
      "format: 1\nmodel: llama-2-7b\ncluster: dgx-h100:2\nbatch: {sequences: 16, sequence_length: 1024, "
      "microbatches: 4}\nparallel: ";
  PlaceOptions options;
  options.layers = true;
  for (const auto& [text, key] :
       {std::pair<std::string, std::string>{"{tensor: 8, data: 2}\n", "parallel"},
        {"{tensor: 8, pipeline: 2}\ntraining: {recompute: {mode: full, layers: 3}}\n", "training.recompute.layers"}}) {
    make("job.yaml", head + text);
    try {
      (void)place_ranks::place_ranks(scenario::load_scenario(place("job.yaml")), options, silent());
      ADD_FAILURE() << key;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.problems().front().key, key);
    }
  }
}

}  // namespace
}  // namespace lockstep
