#pragma once
/// One run, interruption by interruption, as a discrete-event simulation. Rules: docs/models/goodput.md.
#include <cstdint>

#include "sim/studies/goodput/renewal.hpp"

namespace lockstep::goodput {

/// The shares of a run of this length of wall time. The same seed gives the same run.
[[nodiscard]] TimeShares simulate_run(const RunModel& model, Seconds length, std::uint64_t seed);

/// About how many events such a run has.
[[nodiscard]] double expected_events(const RunModel& model, Seconds length);

}  // namespace lockstep::goodput
