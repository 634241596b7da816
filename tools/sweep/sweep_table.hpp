#pragma once
/// The simulated points of a database as columns, for plots and pages.
#include <string>
#include <vector>

#include "tools/sweep/outputs.hpp"
#include "tools/sweep/store.hpp"

namespace lockstep::sweep {

struct SweepTable {
  struct Key {
    std::string name;
    std::vector<std::string> cells;   ///< of each point; "" where it is not set
    std::vector<std::string> values;  ///< distinct, numbers in their order, words as they come
    bool numbers = true;              ///< all of them
  };
  std::vector<Key> keys;
  std::vector<std::vector<double>> outputs;  ///< in the order of sweep_outputs(), of each point; NaN: unknown
  [[nodiscard]] std::size_t points() const { return outputs.empty() ? 0 : outputs.front().size(); }
};

/// Points that were simulated, ordered by their inputs.
[[nodiscard]] SweepTable read_table(Database& database, const StoreHeader& header);

/// The axes of a plot: an output over a key, with a line for each value of another key.
struct SweepAxes {
  std::size_t y = 0;              ///< in sweep_outputs()
  std::size_t x = 0;              ///< in SweepTable::keys
  std::optional<std::size_t> by;  ///< in SweepTable::keys
};

/// "" for a name: the first output; the first keys with several values. Throws ConfigError for unknown names.
[[nodiscard]] SweepAxes axes_named(const SweepTable& table, const std::string& y, const std::string& x,
                                   const std::string& by);

/// Whether less of it is better: times and bytes.
[[nodiscard]] bool less_is_better(const SweepOutput& output);

/// The picture, SVG. Among points that differ only in other keys, the best is shown.
[[nodiscard]] std::string sweep_picture(const SweepTable& table, const SweepAxes& axes, const std::string& title);

}  // namespace lockstep::sweep
