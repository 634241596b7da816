#pragma once
/// Points of a sweep and their results, as messages between ranks.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/sweep/run_sweep.hpp"

namespace lockstep::mpi {

[[nodiscard]] std::string text_of(std::span<const std::int64_t> points);
/// Simulates points. Their results, as rows_in() reads them.
[[nodiscard]] std::string rows_of(std::string_view points, const sweep::Sweep& sweep,
                                  const sweep::SweepOptions& options, spdlog::logger& log);
[[nodiscard]] std::vector<std::pair<std::int64_t, sweep::PointResult>> rows_in(std::string_view text);

}  // namespace lockstep::mpi
