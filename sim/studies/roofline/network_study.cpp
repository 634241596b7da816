#include "sim/studies/roofline/network_study.hpp"

#include <algorithm>
#include <cmath>

#include "sim/studies/roofline/study.hpp"
#include "sim/studies/roofline/threshold_search.hpp"

namespace lockstep::roofline {
namespace {

/// Bytes of a layer's two matrices in 16 bits, and its FLOPs for one token in the forward.
double weights(const scenario::Scenario& scenario) {
  return 4.0 * static_cast<double>(scenario.model.d_model * scenario.model.d_ff);
}

scenario::Scenario two_matmul(const scenario::Scenario& scenario) {
  auto trial = layers_of_the_book(scenario);
  trial.cluster = scenario.cluster;
  trial.collectives = scenario.collectives;
  return trial;
}

/// A level's collective, how often a layer's compute in the forward must cover it, and where it is simulated.
struct Trial {
  scenario::Scenario scenario;
  workloads::CollectiveKind kind;
  std::string axis;
  std::int64_t shards = 1;  ///< each chip's collective is of so large a part of the layer
  double covered_by = 1;    ///< passes of compute as long as the forward
  double of_layer = 1;      ///< those passes over all three of a layer
  double faster = 1;        ///< than the cluster's are these chips, so that a threshold is many tokens of one chip
};

void study(NetworkLevel& level, const Trial& trial, FlopsPerSecond of_the_chip, spdlog::logger& log) {
  const auto flops = of_the_chip * trial.faster;
  const auto exposed = [&](const scenario::Scenario& s) {
    return estimate_one_rank(s, preparation::prepare_step(s), log).exposed_comm;
  };
  level.book = of_the_chip.value() / level.bandwidth.value() / static_cast<double>(level.unit);
  const auto machine = preparation::prepare_step(trial.scenario).machine;
  const double bytes = weights(trial.scenario);
  const auto cost = machine.collectives->cost(trial.kind, {trial.axis},
                                              Bytes(std::llround(bytes / static_cast<double>(trial.shards))));
  const double exact = cost.value() * flops.value() / bytes / trial.covered_by;
  level.exact = exact / trial.faster;
  level.simulated = simulated_token_threshold(trial.scenario, exact / 4, exact * 4, 1e-3, exposed) / trial.faster;
  for (const double part : {0.25, 0.5, 1.0, 2.0}) {
    auto at = trial.scenario;
    const double chips = static_cast<double>(at.chips()), sequences = static_cast<double>(at.batch.sequences);
    at.batch.sequence_length = std::max<std::int64_t>(1, std::llround(part * exact * chips / sequences));
    const double tokens = static_cast<double>(at.batch.sequence_length) * sequences / chips;
    const double compute = 3 * bytes * tokens / flops.value();
    level.points.push_back({tokens / trial.faster, std::max(0.0, exact / tokens - 1) * trial.of_layer,
                            std::max(0.0, exposed_per_layer(at, exposed).value() / compute)});
  }
}

/// FSDP over all chips of the trial's cluster: each gather of the forward must hide behind its products.
Trial fsdp_over_all(scenario::Scenario trial) {
  const auto chips = trial.chips();
  trial.parallel.fsdp = chips;
  trial.mesh.push_back({"fsdp", static_cast<int>(chips), std::nullopt});
  trial.batch = {chips, 1, 1};
  return {std::move(trial), workloads::CollectiveKind::all_gather, "fsdp"};
}

/// Data parallelism over pods whose own links cost nothing, as in the closed form: the gradients' all-reduce must hide
/// behind the two products of the backward.
Trial data_over_pods(scenario::Scenario trial) {
  auto& torus = std::get<topologies::TorusSpec>(trial.cluster.unit);
  constexpr double without_cost = 1e6;
  torus.chip.torus->link = torus.chip.torus->link * without_cost;
  for (auto& link : torus.chip.torus->axis_links) link = link * without_cost;
  torus.chip.torus->hop_latency = Seconds(0);
  constexpr double faster = 1000;
  for (auto& [precision, peak] : torus.chip.peak) peak = peak * faster;
  const std::int64_t pods = trial.cluster.units, slice = trial.chips() / pods;
  trial.parallel.data = pods;
  trial.parallel.fsdp = slice;
  trial.mesh.push_back({"data", static_cast<int>(pods), std::vector<std::string>{"pod"}});
  if (slice > 1) trial.mesh.push_back({"fsdp", static_cast<int>(slice), std::vector<std::string>{"rest"}});
  trial.batch = {pods * slice, 1, 1};
  return {std::move(trial), workloads::CollectiveKind::all_reduce, "data", slice, 2, 2.0 / 3, faster};
}

void study_nodes(const scenario::Scenario& scenario, NetworkRoofline& made, spdlog::logger& log) {
  const auto& node = *scenario.cluster.node();
  const auto share = [](double rate) { return BytesPerSecond(rate); };
  if (node.chips > 1) {
    const bool mesh = node.scale_up == topologies::NodeSpec::ScaleUp::full_mesh;
    NetworkLevel level{"FSDP over the " + std::to_string(node.chips) + " chips of a node",
                       share(node.scale_up_link.value() * (mesh ? node.chips - 1 : 1))};
    auto trial = two_matmul(scenario);
    trial.cluster = {};
    trial.cluster.unit = node;
    study(level, fsdp_over_all(std::move(trial)), made.flops, log);
    made.levels.push_back(std::move(level));
  }
  const auto nodes = scenario.cluster.devices() / node.chips;
  if (nodes < 2) return;
  NetworkLevel level{"FSDP over all " + std::to_string(nodes) + " nodes", share(node.nic.value() * node.nics)};
  study(level, fsdp_over_all(two_matmul(scenario)), made.flops, log);
  made.levels.push_back(std::move(level));
}

void study_pods(const scenario::Scenario& scenario, NetworkRoofline& made, spdlog::logger& log) {
  const auto& chip = scenario.cluster.chip();
  std::int64_t host = 1;
  for (const int side : chip.torus->host) host *= side;
  NetworkLevel level{"data parallelism over " + std::to_string(scenario.cluster.units) + " pods",
                     BytesPerSecond(chip.dcn_per_host->value() / static_cast<double>(host))};
  level.unit = scenario.chips() / scenario.cluster.units;
  study(level, data_over_pods(two_matmul(scenario)), made.flops, log);
  made.levels.push_back(std::move(level));
}

}  // namespace

bool is_network(const scenario::Scenario& scenario) {
  return scenario.cluster.torus() == nullptr || scenario.cluster.units > 1;
}

NetworkRoofline study_network(const scenario::Scenario& scenario, spdlog::logger& log,
                              const std::function<void(std::string_view, double)>& progress) {
  preparation::refuse_local_updates(scenario, "a roofline is drawn of one step");
  if (scenario.replay) {
    throw ConfigError(
        {{scenario.where("model.replay"), "model.replay",
          "replayed operations have no FLOPs and no bytes to draw a roofline of", "a model by its shape"}});
  }
  if (!scenario.cluster.groups.empty()) {
    throw ConfigError({{scenario.where("cluster.groups"), "cluster.groups",
                        "the closed forms of the roofline are those of one kind of chip", "node and nodes"}});
  }
  NetworkRoofline made;
  made.flops = balance_of(scenario.cluster.chip(), scenario.training.precision).flops;
  made.chips = scenario.chips();
  made.tokens_per_chip =
      static_cast<double>(scenario.batch.sequences * scenario.batch.sequence_length) / static_cast<double>(made.chips);
  progress("searching thresholds", 0);
  if (scenario.cluster.torus() != nullptr)
    study_pods(scenario, made, log);
  else
    study_nodes(scenario, made, log);
  progress("done", 1);
  return made;
}

}  // namespace lockstep::roofline
