// The design of a network, against all networks of a space simulated one by one:
//   front = { n : no simulated n' has time, price and power <= those of n, and one of them < }
// and a pruned network has a bound b with T(rival) <= b <= T(network), price and power of the rival being no larger. So
// a walk with bounds finds the front of the whole space, and every pruned network is beaten once it is simulated.
#include <gtest/gtest.h>

#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <set>

#include "sim/studies/design_networks/network_design.hpp"
#include "sim/studies/design_networks/step_bound.hpp"
#include "sim/studies/planning/plan_search.hpp"
#include "tests/property/random_scenarios.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace lockstep {
namespace {

using design_networks::DesignAim;
using design_networks::DesignedNetwork;
using design_networks::DesignOptions;
using design_networks::NetworkDesign;
using design_networks::NetworkSpace;
using Fate = DesignedNetwork::Fate;

const std::string nodes =
    "format: 1\nmodel: {layers: 8, d_model: 2048, d_ff: 8192, heads: 16, vocabulary: 32000}\n"
    "cluster: {node: dgx-h100, nodes: 16, fabric: {like: infiniband-ndr-rail, radix: 16, nodes_per_scalable_unit: "
    "4}}\n";
const std::string fsdp = nodes + "parallel: {fsdp: 128}\nbatch: {sequences: 128, sequence_length: 1024}\n";
const std::string replicas =
    nodes +
    "mesh: {tensor: [gpu], data: [node]}\nparallel: {tensor: 8, data: 16}\nbatch: {sequences: 64, "
    "sequence_length: 2048, microbatches: 2}\n";
const std::string experts =
    "format: 1\nmodel: {layers: 4, d_model: 2048, heads: 16, vocabulary: 32000, moe: {experts: 32, experts_per_token: "
    "4, "
    "d_ff: 1024}}\ncluster: {node: dgx-h100, nodes: 16, fabric: {like: infiniband-ndr-rail, radix: 16, "
    "nodes_per_scalable_unit: 4}}\n"
    "parallel: {expert: 32, data: 4}\nbatch: {sequences: 128, sequence_length: 1024}\n";
const std::string torus =
    "format: 1\nmodel: {layers: 4, d_model: 2048, d_ff: 8192, heads: 16, vocabulary: 32000}\n"
    "cluster: tpu-v5p:4x4x8\nparallel: {tensor: 4, fsdp: 32}\nbatch: {sequences: 64, sequence_length: 1024}\n"
    "model_of_time: ideal\n";

const std::string fabrics =
    "list:\n  - {cluster.fabric.kind: fat_tree}\n  - {cluster.fabric.kind: rail_optimised, cluster.fabric.rails: "
    "joined}\n"
    "  - {cluster.fabric.kind: rail_optimised, cluster.fabric.rails: separate}\n"
    "grid: {cluster.fabric.oversubscription: [1, 3, 7], cluster.node.nics.count: [8, 2]}\n";

const std::string hashed =
    "grid: {cluster.fabric.kind: [fat_tree, rail_optimised], cluster.fabric.routing: [ecmp, spray], "
    "cluster.fabric.oversubscription: [1, 7], cluster.node.nics.count: [8, 2]}\n";

struct SpaceCase {
  std::string name;
  std::vector<std::string> scenarios;
  std::vector<double> weights;
  std::string axes;  ///< "": the usual networks
};

const std::vector<SpaceCase> cases{
    {"Fsdp", {fsdp}, {1}, fabrics},       {"Replicas", {replicas}, {1}, fabrics},
    {"Experts", {experts}, {1}, fabrics}, {"TwoScenarios", {replicas, experts}, {3, 1}, fabrics},
    {"Hashed", {experts}, {1}, hashed},   {"Usual", {fsdp}, {1}, ""},
    {"Shapes", {torus}, {1}, ""}};

spdlog::logger& silent() {
  static spdlog::logger log("silent", std::make_shared<spdlog::sinks::null_sink_mt>());
  return log;
}

class NetworkDesigns : public test::ScratchFolder, public testing::WithParamInterface<SpaceCase> {
 protected:
  NetworkDesigns() {
    const auto& one = GetParam();
    std::vector<design_networks::Workload> workloads;
    for (std::size_t i = 0; i < one.scenarios.size(); ++i) {
      const auto name = "scenario" + std::to_string(i) + ".yaml";
      make(name, one.scenarios[i]);
      workloads.push_back({place(name), one.weights[i]});
    }
    make("space.yaml", one.axes);
    space_.emplace(workloads, std::vector<scenario::KeyOverride>{},
                   one.axes.empty() ? std::nullopt : std::optional(place("space.yaml")));
  }

  [[nodiscard]] NetworkDesign design(bool prune, double within = 0, int jobs = 2) const {
    DesignOptions options;
    options.prune = prune;
    options.within = within;
    options.jobs = jobs;
    options.engine = engine::EngineKind::max_min;
    return design_network(*space_, {1e12, &prices_}, options, silent());
  }

  const economics::PriceList prices_ =
      economics::read_price_list(std::filesystem::path(source_dir) / "tests/data/prices/round.yaml");
  std::optional<NetworkSpace> space_;
};

/// Time, price and power; times that differ by rounding are equal.
std::array<double, 3> figures(const DesignedNetwork& network) {
  return {planning::compared_time(network.timed->run_s), network.machine.hour, network.machine.rated.value()};
}

bool beats(const DesignedNetwork& a, const DesignedNetwork& b) {
  const auto ours = figures(a), theirs = figures(b);
  return ours != theirs && ours[0] <= theirs[0] && ours[1] <= theirs[1] && ours[2] <= theirs[2];
}

// Networks with equal figures stand for each other, so fronts are compared by figures.
TEST_P(NetworkDesigns, FrontIsThatOfTheWholeSpace) {
  const auto all = design(false), pruned = design(true);
  EXPECT_EQ(all.count(Fate::pruned), 0);
  std::set<std::array<double, 3>> brute, walked;
  for (const auto& one : all.networks) {
    if (!one.timed || !one.timed->is_answer()) continue;
    const bool is_beaten = std::any_of(all.networks.begin(), all.networks.end(), [&](const DesignedNetwork& other) {
      return other.timed && other.timed->is_answer() && beats(other, one);
    });
    if (!is_beaten) brute.insert(figures(one));
  }
  for (const auto number : pruned.front) walked.insert(figures(pruned.networks[static_cast<std::size_t>(number)]));
  EXPECT_EQ(walked, brute);
  EXPECT_EQ(walked.size(), pruned.front.size());
  EXPECT_EQ(pruned.count(Fate::simulated) + pruned.count(Fate::pruned) + pruned.count(Fate::refused), space_->size());
  RecordProperty("pruned", static_cast<int>(pruned.count(Fate::pruned)));
}

TEST_P(NetworkDesigns, PrunedNetworksAreBeatenWhenSimulated) {
  const auto all = design(false);
  for (const double within : {0.0, 0.05}) {
    const auto walked = design(true, within);
    for (std::size_t i = 0; i < walked.networks.size(); ++i) {
      const auto& one = walked.networks[i];
      if (one.fate == Fate::refused) continue;
      const auto& simulated = all.networks[i];
      EXPECT_LE(one.bound_s, simulated.timed->run_s * (1 + 1e-9)) << space_->label(static_cast<std::int64_t>(i));
      if (one.fate != Fate::pruned) continue;
      const auto& rival = walked.networks[static_cast<std::size_t>(one.beaten_by)];
      EXPECT_LE(rival.timed->run_s, one.bound_s * (1 + within) * (1 + 1e-9));
      EXPECT_LE(rival.machine.hour, one.machine.hour);
      EXPECT_LE(rival.machine.rated, one.machine.rated);
    }
    // What is not shown is at most so much faster than something that is shown and costs and draws no more.
    for (const auto& other : all.networks) {
      if (!other.timed || !other.timed->is_answer()) continue;
      const bool has_equal = std::any_of(walked.front.begin(), walked.front.end(), [&](auto number) {
        const auto& shown = walked.networks[static_cast<std::size_t>(number)];
        return shown.machine.hour <= other.machine.hour && shown.machine.rated <= other.machine.rated &&
               shown.timed->run_s <= other.timed->run_s * (1 + within) * (1 + 1e-8);
      });
      EXPECT_TRUE(has_equal);
    }
  }
}

// A bound that ruled nothing out would make all of this easy.
TEST_P(NetworkDesigns, SomeNetworksArePruned) {
  if (space_->size() < 9) return;  // too few for a rival to be known in time
  EXPECT_GT(design(true, 0.2).count(Fate::pruned), space_->size() / 4);
}

TEST_P(NetworkDesigns, NumberOfJobsChangesNothing) {
  const auto one = design(true, 0.01, 1), three = design(true, 0.01, 3);
  EXPECT_EQ(one.front, three.front);
  for (std::size_t i = 0; i < one.networks.size(); ++i) {
    EXPECT_EQ(one.networks[i].fate, three.networks[i].fate);
    EXPECT_EQ(one.networks[i].beaten_by, three.networks[i].beaten_by);
  }
}

// A list is proven below a price only once every network has one: the cheapest may be among those not counted yet.
TEST_P(NetworkDesigns, NothingIsProvenBeforeAllPartsAreCounted) {
  DesignOptions options;
  int asked = 0;
  options.interrupted = [&] { return ++asked > 3; };
  const auto stopped = design_network(*space_, {1e12, &prices_}, options, silent());
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.first_open, -1);
  EXPECT_TRUE(stopped.front.empty());
}

INSTANTIATE_TEST_SUITE_P(Spaces, NetworkDesigns, testing::ValuesIn(cases),
                         [](const auto& tested) { return tested.param.name; });

// Hundreds of steps with pipelines, experts and calibrated kernels: none is below its bound, and the bound is worth
// something.
TEST(StepBound, IsNeverAboveTheStep) {
  int tight = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    test::RandomScenario drawn(seed);
    drawn.draw_calibrated();
    const auto prepared = test::prepared(drawn);
    if (!prepared) continue;
    const double bound =
        design_networks::step_bound(lower_with_perturbations(prepared->scenario, prepared->preparation)).value();
    const double step = test::step_s(prepared->folded.program);
    EXPECT_LE(bound, step) << drawn.text();
    ++all;
    tight += bound > 0.9 * step ? 1 : 0;
  }
  EXPECT_GT(all, 100);
  EXPECT_GT(tight, all / 3);
}

}  // namespace
}  // namespace lockstep
