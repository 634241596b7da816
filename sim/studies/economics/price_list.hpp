#pragma once
/// The user's prices and powers, from a file of their own: the same scenario has other prices for another buyer.
/// Keys: docs/models/cost.md.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/price_and_power.hpp"

namespace lockstep::economics {

/// The power that a chip draws in each of its states.
struct ChipPower {
  Watts idle{0};         ///< neither of the two below
  Watts communicate{0};  ///< while a collective or transfer of it is under way and it computes nothing
  Watts compute{0};
};

struct ChipPrices {
  std::optional<double> hour;      ///< of one chip, with its share of the node
  std::optional<ChipPower> power;  ///< none: the catalog's
};

/// A part of the network: what it costs to buy and the power that it draws all the time.
struct Part {
  double price = 0;
  Watts power{0};
  bool has_price = false, has_power = false;  ///< the list states them, be they 0
};

struct CablePrices {
  double price = 0;
  bool has_price = false;
  int optics = 0;  ///< transceivers at its ends: 0 of copper, 2 of fibre
};

/// A part of the size for which its price holds.
template <class Priced>
struct Sized {
  std::int64_t ports = 0;  ///< of a switch; else 0
  BytesPerSecond rate{0};  ///< of a port, one way
  Priced part;
};

/// The network beyond what the price of a chip hour pays for.
struct NetworkPrices {
  Seconds lifetime{0};  ///< over which it is written off
  Part nic, network_switch, optic;
  Part switch_optic;  ///< of cables between switches; `optic` is of all others
  CablePrices host_cable, switch_cable, torus_cable;
  /// The sizes that can be bought, where the list has several of a part; then the part above is not known before a
  /// network is (prices_on).
  std::vector<Sized<Part>> nics, switches, optics;
  std::vector<Sized<CablePrices>> host_cables, switch_cables;
  Location at;       ///< where these prices stand
  std::string path;  ///< "network", "networks.roce-400g"
};

struct PriceList {
  Location chips_at;     ///< where a chip that is missing would stand
  std::string currency;  ///< of all prices
  std::map<std::string, ChipPrices> chips;
  std::optional<Watts> host;                      ///< of a node without its chips and NICs
  std::optional<NetworkPrices> network;           ///< of fabrics that `networks` does not name
  std::map<std::string, NetworkPrices> networks;  ///< by name of the fabric
  std::optional<double> kilowatt_hour;
  double pue = 1;                                 ///< power of the site over that of chips, hosts and network
  std::optional<double> grams_per_kilowatt_hour;  ///< of carbon dioxide

  /// Null: the list has no network of this name, and none for the others.
  [[nodiscard]] const NetworkPrices* network_of(const std::string& fabric) const;
};

/// Throws ConfigError with every problem of the file.
[[nodiscard]] PriceList read_price_list(const std::filesystem::path& file);

/// The powers of the catalog's chips whose makers publish them.
[[nodiscard]] const std::map<std::string, ChipPower>& catalog_powers();

}  // namespace lockstep::economics
