#pragma once
/// The bytes that the links of a cluster carried.
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/program/fold.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::metrics {

/// Links that carry the same at the same times. Shares are of the window that was asked for.
struct LinkLoad {
  std::int32_t link;   ///< of the whole program (a LinkId of the cluster), the lowest of those alike
  std::int32_t alike;  ///< how many, itself included
  BytesPerSecond bandwidth;
  double bytes;  ///< over one of them
  double busy;   ///< share of time in which flows cross it
  double used;   ///< share of the bytes that it could have carried
  double peak;  ///< largest share of its bandwidth at an instant, every flow at its mean rate over its phase; at most 1
};

/// Links that carried anything in the given phases, the most used first, equals by number. All runs of the phases, as
/// often as `repetition` says, must lie in `window`.
[[nodiscard]] std::vector<LinkLoad> link_loads(const program::Program& program,
                                               std::span<const timeline::PhaseSpan> phases,
                                               const program::LinkClasses& members, timeline::Interval window,
                                               const timeline::Repetition& repetition = {});

/// For each representative link (`LinkLoad::link`), the mean share of its bandwidth in use in each of `bins` equal
/// parts of the window.
[[nodiscard]] std::map<std::int32_t, std::vector<double>> link_use_over_time(
    const program::Program& program, std::span<const timeline::PhaseSpan> phases, const program::LinkClasses& members,
    timeline::Interval window, int bins, const timeline::Repetition& repetition = {});

}  // namespace lockstep::metrics
