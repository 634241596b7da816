#pragma once
/// The experts of every layer placed by a scenario's counted tokens, and the step with them.
#include "sim/simulate.hpp"
#include "sim/studies/place_ranks/expert_places.hpp"

namespace lockstep::place_ranks {

struct ExpertStudy {
  std::int64_t ranks = 1;                  ///< that share out the experts of a layer
  std::vector<PlacedExperts> layers;       ///< as the counted tokens: of each layer with experts, or one for all
  Seconds given{0}, placed{0};             ///< the step
  Seconds even{0};                         ///< the step if all experts of a layer had the same tokens
  std::vector<std::vector<double>> loads;  ///< the counted tokens in the new order of experts
};

/// Throws ConfigError for a scenario without counted tokens, and for groups of experts that its ranks do not divide.
[[nodiscard]] ExpertStudy study_experts(const scenario::Scenario& scenario, engine::EngineKind engine,
                                        spdlog::logger& log);

}  // namespace lockstep::place_ranks
