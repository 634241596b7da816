#pragma once
/// The report of a sweep.
#include "tools/report/page.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace lockstep {

/// Starts with the chart of the axes; the reader can choose others. At most so many points are on the page, spread
/// evenly.
inline constexpr std::size_t most_points_on_a_page = 50'000;
[[nodiscard]] std::optional<std::string> sweep_report(Database& database, const SweepTable& table,
                                                      const SweepAxes& axes, const std::string& title);

}  // namespace lockstep
