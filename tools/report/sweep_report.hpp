#pragma once
/// The report of a sweep.
#include "tools/report/page.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace lockstep::report {

/// Starts with the chart of the axes; the reader can choose others. At most so many points are on the page, spread
/// evenly.
inline constexpr std::size_t most_points_on_a_page = 50'000;
[[nodiscard]] std::optional<std::string> sweep_report(sweep::Database& database, const sweep::SweepTable& table,
                                                      const sweep::SweepAxes& axes, const std::string& title);

}  // namespace lockstep::report
