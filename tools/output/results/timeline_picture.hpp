#pragma once
/// A picture of part of a timeline: one row per stream of the critical rank, compute and collectives by colour.
#include <string>

#include "sim/simulate.hpp"

namespace lockstep::output {

/// SVG of the window [from, to] of the critical rank's lanes, at most a few thousand rectangles.
[[nodiscard]] std::string timeline_picture(const scenario::Scenario& scenario, const Simulation& simulation,
                                           Seconds from, Seconds to);
/// A window that tells most: the last four blocks on either side of the turn from forward to backward; in a pipeline,
/// where other microbatches run in between, the backward of a microbatch in the middle.
struct Window {
  Seconds from, to;
};
[[nodiscard]] Window middle_window(const Simulation& simulation);

}  // namespace lockstep::output
