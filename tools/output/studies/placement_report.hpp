#pragma once
/// The best order found of a machine's units, and the places of experts: text, JSON, and what a scenario takes.
#include <string>
#include <vector>

#include "sim/studies/place_ranks/expert_study.hpp"
#include "sim/studies/place_ranks/place_ranks.hpp"
#include "tools/output/elements/design_reasons.hpp"

namespace lockstep::output {

/// Why: the waits that become shorter, and the bytes that leave the links between switches. What if: such links were a
/// tenth faster, or the network beyond the NICs had no limits. Only the answer where PlacedRanks::use is missing.
[[nodiscard]] DesignReasons placement_reasons(const place_ranks::PlacedRanks& placed);
/// SVG: the nodes below each switch, with the groups of ranks on them as given and in the best order.
[[nodiscard]] std::string placement_picture(const scenario::Scenario& scenario, const place_ranks::PlacedRanks& placed);
/// Names of the first so many units: "gpu03" on a graph, else "node 3".
[[nodiscard]] std::vector<std::string> unit_names(const scenario::Scenario& scenario, std::size_t units);

/// "5, 13, 13, 1".
[[nodiscard]] std::string layers_text(const place_ranks::StageLayers& layers);
/// "5, 13, 13, 1, where the scenario has 5, 12, 12, 3"; only where layers were searched.
[[nodiscard]] std::string split_text(const place_ranks::PlacedRanks& placed);
/// Whether a percentage shows that `step` is less.
[[nodiscard]] bool is_shorter(Seconds step, Seconds than);
/// "1.10 s, 4.5 % less", "1.16 s, 0.3 % more", or "1.15 s too" where a percentage shows no difference.
[[nodiscard]] std::string beside(Seconds step, Seconds other);
[[nodiscard]] std::string placement_text(const scenario::Scenario& scenario, const place_ranks::PlacedRanks& placed);
[[nodiscard]] std::string placement_json(const scenario::Scenario& scenario, const place_ranks::PlacedRanks& placed);
/// Names of the hosts in the order of ranks, as Slurm writes lists; "" where the machine is not on a graph.
[[nodiscard]] std::string host_order(const scenario::Scenario& scenario, const place_ranks::UnitOrder& order);
/// The file that `cluster.order` takes: one device number a line.
[[nodiscard]] std::string device_order(const scenario::Scenario& scenario, const place_ranks::UnitOrder& order);

/// The layer whose fullest rank has most tokens less than before, as a position in ExpertStudy::layers.
[[nodiscard]] std::size_t layer_that_gains_most(const place_ranks::ExpertStudy& study);
/// "layer 3", or "all layers" where they are counted together.
[[nodiscard]] std::string layer_name(const place_ranks::ExpertStudy& study, std::size_t layer);
/// Why: the fullest rank has fewer tokens. What if: all experts had the same tokens.
[[nodiscard]] DesignReasons experts_reasons(const place_ranks::ExpertStudy& study);
[[nodiscard]] std::string experts_text(const scenario::Scenario& scenario, const place_ranks::ExpertStudy& study);
[[nodiscard]] std::string experts_json(const scenario::Scenario& scenario, const place_ranks::ExpertStudy& study);
/// Counted tokens by place, as `routing.loads` takes them.
[[nodiscard]] std::string experts_csv(const place_ranks::ExpertStudy& study);

}  // namespace lockstep::output
