#pragma once
/// How far a predicted step may be off, in text and JSON: the interval in which similar measured steps lay, and the
/// times under other paths of a network that hashes.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sim/studies/validation/error_band.hpp"

namespace lockstep::output {

/// "80 % of similar measured steps lay between 5.61 s and 6.92 s (21 of 4 sources: hopper, pipeline, 16 bits)".
[[nodiscard]] std::string band_text(const validation::ErrorBand& band, Seconds step);
/// Null without a band.
[[nodiscard]] nlohmann::ordered_json band_json(const std::optional<validation::ErrorBand>& band, Seconds step);

[[nodiscard]] nlohmann::ordered_json draws_json(const StepDraws& draws);
/// As those of drawn documents are told: with the 5 % and the 95 % quantile.
[[nodiscard]] nlohmann::ordered_json document_draws_json(const StepDraws& draws);

}  // namespace lockstep::output
