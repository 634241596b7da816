#pragma once
/// The networks of a space that are worth their price: those that no other beats in the time of a run, the price of the
/// machine and the power that its site has to provide. Price and power of every network are counted; its time has a
/// lower bound (step_bound.hpp). A network is pruned where another one, which was simulated, costs no more, needs no
/// more power and takes no longer than that bound. Docs: docs/howto/design_a_network.md.
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/design_networks/timed_networks.hpp"

namespace lockstep::design_networks {

struct DesignedNetwork {
  enum class Fate {
    open,     ///< a walk that was stopped did not come to it
    refused,  ///< it cannot be built, or the scenarios cannot run on it
    pruned,   ///< by its bound
    simulated
  };
  Fate fate = Fate::open;
  economics::MachinePrice machine;    ///< not of refused ones
  std::string refusal, expected;      ///< the first problem
  double bound_s = 0;                 ///< of the run; of pruned and simulated ones
  std::optional<TimedNetwork> timed;  ///< of simulated ones
  std::int64_t beaten_by = -1;        ///< of pruned ones: a network of the front when it was pruned
};

struct NetworkDesign {
  std::vector<DesignedNetwork> networks;  ///< by number in the space
  std::vector<std::int64_t> front;        ///< not beaten, cheapest first
  bool stopped = false;
  std::int64_t first_open = -1;  ///< of a walk that was stopped: the cheapest that is open; all cheaper ones are
                                 ///< decided. -1: none, or it was stopped before all were priced

  [[nodiscard]] std::int64_t count(DesignedNetwork::Fate fate) const;
  /// Whether all machines have chips of one price, so that what differs is what their networks cost to buy.
  [[nodiscard]] bool has_equal_chips() const;
  /// What is compared: the network's price, or the whole machine's for an hour where chips differ.
  [[nodiscard]] double money(std::int64_t network) const;

  /// What the price list says nothing about, of all machines.
  [[nodiscard]] std::vector<std::string> assumed() const;

  /// What more money buys, from one network of the front on.
  struct Next {
    std::optional<std::int64_t> within;  ///< the fastest of the front that costs at most so much more and is faster
    std::optional<std::int64_t> dearer;  ///< without one: the cheapest of the front that is faster
  };
  [[nodiscard]] Next next(std::int64_t network, double more = 0.1) const;
  /// The network of the front whose run costs least, energy included; -1: the front is empty.
  [[nodiscard]] std::int64_t least_total() const;
};

struct DesignOptions {
  double within = 0;  ///< times that differ by this share are taken for equal
  bool prune = true;  ///< false: every network is simulated
  int jobs = 1;
  engine::EngineKind engine = engine::EngineKind::automatic;
  double limit_s = std::numeric_limits<double>::infinity();
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
  std::function<bool()> interrupted;                                      ///< may be empty; true ends the walk
};

/// Networks are decided from the cheapest on, two to eight at a time from what is known of all before them, so the
/// answer does not depend on the number of jobs. Throws ConfigError if no network of the space can be built, and
/// InternalError if a simulated step is below its bound.
[[nodiscard]] NetworkDesign design_network(const NetworkSpace& space, const DesignAim& aim,
                                           const DesignOptions& options, spdlog::logger& log);

}  // namespace lockstep::design_networks
