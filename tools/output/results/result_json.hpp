#pragma once
/// result.json: the keys of the result, with the unit in each name. Keys are stable; see docs/models/metrics.md.
#include <span>
#include <string>

#include "sim/simulate.hpp"
#include "sim/studies/sensitivity/faster_parts.hpp"

namespace lockstep::output {

/// Real times of this run (`wall_s`, `fold_wall_s`) are the only values that two equal runs differ in;
/// in files they are null, so that equal runs give equal bytes; `--json -` shows them.
enum class WallTimes { shown, hidden };
[[nodiscard]] std::string result_json(const scenario::Scenario& scenario, const Simulation& simulation, WallTimes times,
                                      std::span<const sensitivity::FasterPart> faster = {});

}  // namespace lockstep::output
