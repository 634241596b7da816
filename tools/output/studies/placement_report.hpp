#pragma once
/// The best order found of a machine's units, and the places of experts: text, JSON, and what a scenario takes.
#include <string>

#include "sim/studies/place_ranks/expert_study.hpp"
#include "sim/studies/place_ranks/place_ranks.hpp"

namespace lockstep::output {

[[nodiscard]] std::string placement_text(const scenario::Scenario& scenario, const place_ranks::PlacedRanks& placed);
[[nodiscard]] std::string placement_json(const scenario::Scenario& scenario, const place_ranks::PlacedRanks& placed);
/// Names of the hosts in the order of ranks, as Slurm writes lists; "" where the machine is not on a graph.
[[nodiscard]] std::string host_order(const scenario::Scenario& scenario, const place_ranks::UnitOrder& order);
/// The file that `cluster.order` takes: one device number a line.
[[nodiscard]] std::string device_order(const scenario::Scenario& scenario, const place_ranks::UnitOrder& order);

[[nodiscard]] std::string experts_text(const scenario::Scenario& scenario, const place_ranks::ExpertStudy& study);
[[nodiscard]] std::string experts_json(const scenario::Scenario& scenario, const place_ranks::ExpertStudy& study);
/// Counted tokens by place, as `routing.loads` takes them.
[[nodiscard]] std::string experts_csv(const place_ranks::ExpertStudy& study);

}  // namespace lockstep::output
