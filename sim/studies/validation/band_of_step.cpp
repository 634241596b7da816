// The band of a simulated step, from the catalog's families.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "sim/studies/validation/error_band.hpp"

namespace lockstep::validation {
namespace {

/// The bands of the last file that was asked for, by how many steps a machine has measured of its own. They are kept,
/// since reading and widening take a tenth of a short run, and an explorer or a search asks for every step.
std::shared_ptr<const ErrorBands> bands_of(const std::filesystem::path& file, int own_steps) {
  static std::mutex one_at_a_time;
  static std::pair<std::filesystem::path, std::filesystem::file_time_type> known;
  static std::map<int, std::shared_ptr<const ErrorBands>> bands;
  const std::scoped_lock lock(one_at_a_time);
  const std::pair now(file, std::filesystem::last_write_time(file));
  if (known != now) bands.clear();
  known = now;
  auto& made = bands[own_steps];
  if (!made) made = std::make_shared<const ErrorBands>(bands_after_own_steps(read_families(file), own_steps));
  return made;
}

}  // namespace

std::optional<ErrorBand> error_band(const scenario::Scenario& scenario, double exposed_share) {
  const auto file = scenario::data_root() / "topologies/catalog/validated.csv";
  if (scenario.time_model != cost::TimeModel::calibrated || scenario.replay || !std::filesystem::exists(file) ||
      scenario.cluster.chips().count() > 1)
    return std::nullopt;
  const auto& kernels = scenario.cluster.chip().kernels;
  const int steps = kernels ? kernels->own_steps : 0;
  const auto traits = traits_of(scenario, exposed_share);
  auto band = bands_of(file, steps)->of(traits);
  if (band && steps > 0) {
    band->apart = bands_of(file, 0)->of(traits)->apart;  // of two plans of one machine, which knows itself
    band->pool += ", each after " + std::to_string(steps) + (steps == 1 ? " step" : " steps") + " of its machine";
  }
  return band;
}

std::optional<ErrorBand> error_band(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  auto band = error_band(scenario, metrics.breakdown.exposed_comm / metrics.step_time);
  if (band && simulation.routing_draws && simulation.routing_draws->worst() > simulation.routing_draws->best()) {
    band->low *= std::min(1.0, simulation.routing_draws->best() / metrics.step_time);
    band->high *= std::max(1.0, simulation.routing_draws->worst() / metrics.step_time);
    band->widened.emplace_back("paths are chosen by a hash");
  }
  return band;
}

}  // namespace lockstep::validation
