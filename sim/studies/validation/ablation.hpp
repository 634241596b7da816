#pragma once
/// What each effect of the model is worth: errors of measured steps with it and without it.
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/validation/validate.hpp"

namespace lockstep::validation {

/// A part of the model that can be taken away from a scenario.
struct Effect {
  std::string_view name;        ///< "launches by the host"
  std::string_view parameters;  ///< keys whose values it rests on; "none": it follows from the software
  /// Takes it away; whether the scenario had it.
  bool (*without)(scenario::Scenario&);
};
[[nodiscard]] const std::vector<Effect>& model_effects();

/// A table's errors with everything, and without one effect.
struct Ablated {
  std::string_view effect;
  std::string table;
  std::size_t rows = 0, touched = 0;  ///< rows compared; of these, that have the effect
  ErrorStatistics with, without;      ///< over all of these rows
};

/// Every effect on every table that has it in one of its runs, by effect, tables in their order. Runs that have an
/// effect are simulated once more for it. Under `calibrated`.
[[nodiscard]] std::vector<Ablated> ablate(const std::vector<RunTable>& tables, ValidateOptions options,
                                          spdlog::logger& log);

}  // namespace lockstep::validation
