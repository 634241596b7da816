#pragma once
/// What local updates cost, in text and JSON: the outer reductions, what of them is exposed, traffic between sites.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/metrics/local_updates.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::output {

/// "2 sites of 512 chips train apart along data: 108 inner steps of 4.82 s a period, ..."
[[nodiscard]] std::string local_updates_heading(const workloads::LocalUpdates& asked,
                                                const metrics::LocalUpdates& found);
/// A step's mean share of what reductions cost.
[[nodiscard]] std::string local_updates_share(const metrics::LocalUpdates& found);
/// What chips send to other sites, and what a site's links carry.
[[nodiscard]] std::string traffic_between_sites(const metrics::LocalUpdates& found);
/// "1 and 25 like it": the fragments whose reductions are alike.
[[nodiscard]] std::string fragments_text(const metrics::OuterReduction& reduction);
/// All of these, a table of the reductions, and memory.
[[nodiscard]] std::string local_updates_text(const workloads::LocalUpdates& asked, const metrics::LocalUpdates& found);
[[nodiscard]] nlohmann::ordered_json local_updates_json(const workloads::LocalUpdates& asked,
                                                        const metrics::LocalUpdates& found);
/// "data: 500 inner steps, 24 fragments, delay 1, 4-bit, outer state on the chip"; of none "none".
[[nodiscard]] std::string inputs_text(const std::optional<workloads::LocalUpdates>& asked);

}  // namespace lockstep::output
