#pragma once
/// What a machine costs before anything runs on it: the bill of its network, its price by the hour, and the power that
/// its site has to provide. Equations: docs/models/cost.md.
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/economics/price_list.hpp"
#include "topologies/cluster/cluster_spec.hpp"
#include "topologies/fabrics/component_counts.hpp"

namespace lockstep::economics {

/// One line of the network's bill of materials.
struct BillLine {
  std::string part;  ///< "switch", "cable between switches"
  std::int64_t count = 0;
  double price = 0;  ///< of all of them
  Watts power{0};    ///< of all of them
  friend bool operator==(const BillLine&, const BillLine&) = default;
};

/// The prices of the machine's network; nothing: the list has no network for it. Of parts in several sizes the cheapest
/// that fits: with a port's rate no lower than the network's (NICs; links between switches), and a switch with as many
/// ports as its largest one. Throws ConfigError with a line for each part of which no size fits, and where the network
/// is from a file, which says no sizes.
[[nodiscard]] std::optional<NetworkPrices> prices_on(const topologies::ClusterSpec& cluster, const PriceList& prices);

/// Lines of parts that the network has.
[[nodiscard]] std::vector<BillLine> bill_of(const NetworkPrices& prices, const topologies::ComponentCounts& counts);

/// What the list has no price or power for, though a machine with these parts has it: sentences without a full stop,
/// for people. It counts as 0.
[[nodiscard]] std::vector<std::string> not_in_the_list(const topologies::ClusterSpec& cluster, const PriceList& prices,
                                                       const topologies::ComponentCounts& counts);

/// Stated by the list, or the catalog's; null where neither knows it.
[[nodiscard]] const ChipPower* power_of(const PriceList& list, const topologies::Chip& chip);

struct MachinePrice {
  std::vector<BillLine> network;  ///< empty: its price is not asked for
  double to_buy = 0;              ///< the network
  double chips_hour = 0;          ///< of all chips
  double hour = 0;                ///< the same with the hour's share of the network
  Watts network_power{0};
  Watts rated{0};                    ///< the site while all chips compute
  std::vector<std::string> assumed;  ///< not_in_the_list
};

/// The prices must have passed check_prices. Throws as prices_on does.
[[nodiscard]] MachinePrice price_of_machine(const topologies::ClusterSpec& cluster, const PriceList& prices);

}  // namespace lockstep::economics
