#pragma once
/// The best order found in which ranks stand on the units of a machine, a bound below which no order comes, and the gap
/// between the two. Docs: docs/howto/place_ranks.md.
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/studies/memory_fit.hpp"
#include "sim/studies/place_ranks/placement_bound.hpp"
#include "sim/studies/place_ranks/placement_use.hpp"
#include "sim/studies/place_ranks/stage_layers.hpp"
#include "sim/studies/place_ranks/unit_orders.hpp"

namespace lockstep::place_ranks {

struct TriedOrder {
  std::string name;  ///< "neighbours together", "after 37 moves"
  UnitOrder order;
  Seconds step{0};
  Bytes peak_memory{0};  ///< of the fullest chip
};

struct PlacedRanks {
  Seconds given{0};                      ///< the step as the scenario places its ranks
  std::vector<TriedOrder> first;         ///< the orders that the search began with
  TriedOrder best;                       ///< the scenario's own where none is faster; its step is with `layers`
  bool is_given = false;                 ///< it is
  std::optional<UnitOrder> given_order;  ///< none if the scenario puts neighbouring chips of a unit apart
  Blocks blocks;                         ///< of the network
  std::vector<int> spans;                ///< as spans_of
  StageLayers given_layers,
      layers;                    ///< in the best order as the scenario splits them, and the best; empty: not asked for
  Seconds with_given_layers{0};  ///< the step in the best order, its layers as the scenario splits them
  PlacementBound bound;
  std::optional<PlacementUse> use;  ///< where it was asked for, unless the search was interrupted
  std::int64_t simulated = 0;
  bool stopped = false;
  bool no_new_order = false;             ///< it ended since moves from the best made no order that was not tried
  Bytes peak_memory{0}, chip_memory{0};  ///< of one chip, as the scenario places its ranks
  Bytes best_peak_memory{0};             ///< the same in the best order with the best layers
  [[nodiscard]] studies::Fit given_fit() const { return studies::fit_of(peak_memory, chip_memory); }
  [[nodiscard]] studies::Fit best_fit() const { return studies::fit_of(best_peak_memory, chip_memory); }
  [[nodiscard]] bool has_other_layers() const { return layers != given_layers; }
  [[nodiscard]] double gap() const { return best.step / bound.time - 1; }
};

struct PlaceOptions {
  int moves = 100;      ///< to try
  bool layers = false;  ///< then as many splits of layers over stages in the best order, one layer from the best so far
  std::uint64_t seed = 1;
  int jobs = 1;
  engine::EngineKind engine = engine::EngineKind::automatic;
  double limit_s = std::numeric_limits<double>::infinity();
  bool explained = false;                                                 ///< with PlacedRanks::use
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
  std::function<bool()> interrupted;                                      ///< may be empty
};

/// Simulates the first orders, then moves from the best, four at a time, each kept if it is faster; so the answer does
/// not depend on the number of jobs. Throws ConfigError for a machine of one unit.
[[nodiscard]] PlacedRanks place_ranks(const scenario::Scenario& scenario, const PlaceOptions& options,
                                      spdlog::logger& log);

}  // namespace lockstep::place_ranks
