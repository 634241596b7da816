#pragma once
/// The module lockstep_simgrid, a shared library of this folder alone: SimGrid and the sixteen libraries that it pulls
/// in take a program 25 ms to load, so they are loaded when SimGrid is first used. This is all that others see of it.
#include <vector>

#include "sim/engine/runtime/network.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::engine {

/// Makes a SimGridNetwork, which the caller deletes. Throws InternalError for a second one in a process.
extern "C" [[gnu::visibility("default")]] Network* lockstep_simgrid_network(const program::Program& program,
                                                                            std::vector<timeline::PhaseSpan>* phases);

}  // namespace lockstep::engine
