#pragma once
/// Errors of measured collectives by table, network and length: as text, a part of docs/validation.md, and JSON.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/studies/validation/measured_collectives.hpp"

namespace lockstep::output {

/// Tables and the worst rows; "" for none.
[[nodiscard]] std::string collective_errors_text(const std::vector<validation::ValidatedCollective>& collectives);
[[nodiscard]] std::string collective_errors_part(const std::vector<validation::ValidatedCollective>& collectives);
/// An entry for each table, network and length; and one for each row.
[[nodiscard]] nlohmann::ordered_json collective_errors_json(
    const std::vector<validation::ValidatedCollective>& collectives);
[[nodiscard]] nlohmann::ordered_json collectives_json(const std::vector<validation::ValidatedCollective>& collectives);

}  // namespace lockstep::output
