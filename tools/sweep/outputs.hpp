#pragma once
/// The outputs that a sweep keeps of each simulation: the columns of its table, its export and its plots.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/studies/memory_fit.hpp"

namespace lockstep::sweep {

struct SweepOutput {
  std::string_view name;  ///< as in result.json, those of inner maps by their own name
  std::string_view unit;  ///< s, B, share, count or number
  bool whole;             ///< kept as a whole number
  double (*of)(const scenario::Scenario&, const Simulation&);  ///< NaN where there is no such number
};

[[nodiscard]] std::span<const SweepOutput> sweep_outputs();
/// Throws ConfigError, located at `option`, for a name that is no output.
[[nodiscard]] const SweepOutput& output_named(std::string_view name, const std::string& option);
/// Its place in the list.
[[nodiscard]] std::size_t place_of_output(std::string_view name);
/// The verdict of a point by its outputs; none where `fits` is NaN, of replayed operations.
[[nodiscard]] std::optional<studies::Fit> fit_of_point(double fits, double peak_bytes, double capacity_bytes);
[[nodiscard]] std::vector<double> outputs_of(const scenario::Scenario& scenario, const Simulation& simulation);

}  // namespace lockstep::sweep
