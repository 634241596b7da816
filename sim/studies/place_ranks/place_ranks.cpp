#include "sim/studies/place_ranks/place_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>

#include "sim/core/counted.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/studies/isolated.hpp"

namespace lockstep::place_ranks {
namespace {

constexpr std::size_t at_a_time = 4;
constexpr double noise = 1e-9;  // sums in another order

/// Where the mesh does not say where its axes lie, they stay where they are in the given order.
scenario::Scenario with_places(scenario::Scenario scenario, const preparation::Preparation& prepared) {
  for (auto& axis : scenario.mesh) {
    if (!axis.place) axis.place = place_text(*prepared.machine.cluster, prepared.machine.mesh->axis(axis.name));
  }
  return scenario;
}

class Search {
 public:
  Search(const scenario::Scenario& scenario, const PlaceOptions& options, spdlog::logger& log)
      : options_(options), log_(log), random_(options.seed) {
    const auto prepared = preparation::prepare(scenario);
    if (options.layers) refuse_other_layers(scenario, prepared);
    refuse_one_unit(scenario, *prepared.machine.cluster);
    scenario_ = with_places(scenario, prepared);
    blocks_ = blocks_of(*prepared.machine.cluster);
    spans_ = spans_of(*prepared.machine.cluster, *prepared.machine.mesh);
    placed_.given_order = order_of(*prepared.machine.cluster);
    first_ = first_orders(*prepared.machine.cluster, spans_);
  }

  PlacedRanks run() {
    engine::load(options_.engine);
    placed_.bound = placement_bound(scenario_, options_.layers);
    placed_.given = steps_of({scenario_}).front();
    ++placed_.simulated;
    const auto own = order_of(scenario_.cluster);
    if (own) {
      known_.insert(*own);
      placed_.best = {"as the scenario says", *own, placed_.given, placed_.peak_memory};
      placed_.is_given = true;
    } else {
      placed_.best.step = Seconds(std::numeric_limits<double>::infinity());
    }
    try_first();
    for (int tried = 0; tried < options_.moves && !is_proven() && !out_of_time();) tried += try_moves(tried);
    placed_.with_given_layers = placed_.best.step;
    if (options_.layers) try_layers();
    const bool is_interrupted = options_.interrupted && options_.interrupted();
    if (options_.explained && !is_interrupted)
      placed_.use = placement_use(scenario_, best(), options_.engine, options_.jobs, log_);
    placed_.blocks = std::move(blocks_);
    placed_.spans = std::move(spans_);
    return std::move(placed_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static void refuse_one_unit(const scenario::Scenario& scenario, const topologies::Cluster& cluster) {
    if (cluster.devices() > cluster.unit_size()) return;
    throw ConfigError({{scenario.where("cluster"), "cluster", "has one node or pod, whose ranks have no other order",
                        "several nodes or pods"}});
  }

  [[nodiscard]] bool is_proven() const { return placed_.best.step <= placed_.bound.time * (1 + noise); }
  [[nodiscard]] bool out_of_time() {
    placed_.stopped = placed_.stopped || (options_.interrupted && options_.interrupted()) ||
                      std::chrono::duration<double>(Clock::now() - started_).count() >= options_.limit_s;
    return placed_.stopped;
  }

  [[nodiscard]] std::vector<Seconds> steps_of(const std::vector<scenario::Scenario>& scenarios) {
    std::vector<Seconds> steps(scenarios.size());
    peaks_.assign(scenarios.size(), Bytes(0));
    studies::in_children(
        scenarios.size(), options_.jobs,
        [&](std::size_t i) {
          SimulateOptions options;
          options.engine = options_.engine;
          options.detail = Detail::totals;
          const auto metrics = simulate(scenarios[i], options, log_).metrics;
          return exact(metrics.step_time.value()) + " " + std::to_string(metrics.memory.peak.value()) + " " +
                 std::to_string(metrics.memory.capacity.value());
        },
        [&](std::size_t i, const studies::Answer& answer) {
          std::istringstream text(answer.text());
          double step = 0;
          std::int64_t peak = 0, capacity = 0;
          text >> step >> peak >> capacity;
          steps[i] = Seconds(step);
          peaks_[i] = Bytes(peak);
          if (placed_.simulated > 0) return;
          placed_.peak_memory = placed_.best_peak_memory = Bytes(peak);  // of the first, the scenario as it is
          placed_.chip_memory = Bytes(capacity);
        });
    return steps;
  }

  [[nodiscard]] bool is_too_large(Bytes peak) const {
    return peak > placed_.peak_memory && studies::fit_of(peak, placed_.chip_memory) == studies::Fit::does_not_fit;
  }

  [[nodiscard]] scenario::Scenario ordered(const UnitOrder& order) const {
    auto scenario = scenario_;
    scenario.cluster = with_order(scenario.cluster, order);
    return scenario;
  }

  /// The scenario in the best order with the best layers.
  [[nodiscard]] scenario::Scenario best() const {
    auto scenario = placed_.is_given ? scenario_ : ordered(placed_.best.order);
    return placed_.has_other_layers() ? with_layers(std::move(scenario), placed_.layers) : scenario;
  }

  void take(TriedOrder tried) {
    if (tried.step >= placed_.best.step * (1 - noise)) return;
    placed_.best = std::move(tried);
    placed_.best_peak_memory = placed_.best.peak_memory;
    placed_.is_given = false;
  }

  void try_first() {
    std::vector<scenario::Scenario> scenarios;
    for (const auto& [name, order] : first_) scenarios.push_back(ordered(order));
    const auto steps = steps_of(scenarios);
    placed_.simulated += std::ssize(steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      known_.insert(first_[i].order);
      placed_.first.push_back({first_[i].name, first_[i].order, steps[i], peaks_[i]});
      take(placed_.first.back());
    }
  }

  /// How many were tried: a few, or as many as are left where no order is new.
  int try_moves(int before) {
    constexpr int attempts = 64;
    std::vector<TriedOrder> made;
    std::vector<scenario::Scenario> scenarios;
    for (int i = 0; i < attempts && made.size() < at_a_time; ++i) {
      auto order = moved(placed_.best.order, blocks_, spans_, random_);
      if (!known_.insert(order).second) continue;
      scenarios.push_back(ordered(order));
      made.push_back(
          {"after " + counted(before + std::ssize(made) + 1, "move"), std::move(order), Seconds(0), Bytes(0)});
    }
    placed_.no_new_order = made.empty();
    if (made.empty()) return options_.moves;
    const auto steps = steps_of(scenarios);
    placed_.simulated += std::ssize(steps);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].step = steps[i];
      made[i].peak_memory = peaks_[i];
      take(std::move(made[i]));
    }
    if (options_.progress)
      options_.progress("trying orders", static_cast<double>(before) / static_cast<double>(options_.moves));
    return static_cast<int>(std::ssize(steps));
  }

  /// Splits that do not fit into memory are not taken, unless the given one needs no less.
  void try_layers() {
    const auto scenario = ordered(placed_.best.order);
    placed_.given_layers = placed_.layers = layers_of_stages(preparation::prepare(scenario));
    std::set<StageLayers> known{placed_.layers};
    for (int tried = 0; tried < options_.moves && !is_proven() && !out_of_time();) {
      std::vector<StageLayers> made;
      std::vector<scenario::Scenario> scenarios;
      for (auto& layers : one_layer_away(placed_.layers)) {
        if (made.size() == at_a_time) break;
        if (!known.insert(layers).second) continue;
        scenarios.push_back(with_layers(scenario, layers));
        made.push_back(std::move(layers));
      }
      if (made.empty()) return;
      const auto steps = steps_of(scenarios);
      placed_.simulated += std::ssize(steps);
      tried += static_cast<int>(std::ssize(steps));
      for (std::size_t i = 0; i < made.size(); ++i) {
        if (steps[i] >= placed_.best.step * (1 - noise) || is_too_large(peaks_[i])) continue;
        placed_.best.step = steps[i];
        placed_.best_peak_memory = peaks_[i];
        placed_.layers = made[i];
      }
      if (options_.progress)
        options_.progress("trying splits of layers", static_cast<double>(tried) / static_cast<double>(options_.moves));
    }
  }

  const PlaceOptions& options_;
  spdlog::logger& log_;
  std::mt19937_64 random_;
  scenario::Scenario scenario_;
  Blocks blocks_;
  std::vector<int> spans_;
  std::vector<NamedOrder> first_;
  std::set<UnitOrder> known_;
  std::vector<Bytes> peaks_;  ///< of the last steps: memory of the fullest chip
  PlacedRanks placed_;
  Clock::time_point started_ = Clock::now();
};

}  // namespace

PlacedRanks place_ranks(const scenario::Scenario& scenario, const PlaceOptions& options, spdlog::logger& log) {
  return Search(scenario, options, log).run();
}

}  // namespace lockstep::place_ranks
