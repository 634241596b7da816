#pragma once
/// What training on a number of tokens costs: time, money, energy, carbon dioxide. Equations: docs/models/cost.md.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/economics/machine_price.hpp"
#include "sim/studies/economics/power_profile.hpp"
#include "sim/studies/goodput/renewal.hpp"

namespace lockstep::economics {

struct RunCost {
  Seconds step{0};
  double goodput = 1;  ///< useful share of the run's time; 1 where the scenario says nothing about failures
  Seconds run{0};      ///< wall time
  std::int64_t chips = 0;
  std::vector<BillLine> network;  ///< empty: its price is not asked for

  double for_chips = 0, for_network = 0, for_energy = 0;  ///< in the list's currency
  double total = 0, per_billion_tokens = 0;

  PowerProfile power;                ///< of the chips over a step
  Watts hosts{0}, network_power{0};  ///< beside the chips, all the time
  Watts site{0};                     ///< mean while it trains, with the site's overhead
  Watts site_least{0}, site_most{0};
  Joules energy{0};                ///< of the whole run at the site
  std::optional<double> tonnes;    ///< of carbon dioxide
  std::vector<std::string> notes;  ///< what was assumed or left out
};

/// Throws ConfigError with every chip of the cluster that has no price, or no power that is known.
void check_prices(const topologies::ClusterSpec& cluster, const PriceList& prices);

/// The prices must have passed check_prices.
[[nodiscard]] RunCost cost_of_run(const scenario::Scenario& scenario, const Simulation& simulation,
                                  const PriceList& prices, double tokens);

/// For each run the first other one that takes no longer, costs no more and needs no more energy, and less of one of
/// them; none: nothing is better in all three.
[[nodiscard]] std::vector<std::optional<std::size_t>> better_in_all(const std::vector<RunCost>& runs);

}  // namespace lockstep::economics
