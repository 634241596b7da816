#pragma once
/// SimGrid on request: its module is found as every shared library is, on the run path of the program (its own folder,
/// then where the libraries of Lockstep were built or installed).
#include <memory>
#include <vector>

#include "sim/engine/runtime/network.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::engine {

/// Whether the module can be loaded, which this does; SimGrid itself may not be installed.
[[nodiscard]] bool has_simgrid();

/// Loads the module unless the process has it. Throws ConfigError where there is none.
void load_simgrid();

/// Loads the module and makes its network; `phases` as for PhasedNetwork.
[[nodiscard]] std::unique_ptr<Network> simgrid_network(const program::Program& program,
                                                       std::vector<timeline::PhaseSpan>* phases);

/// Whether this process has made SimGrid's network. A process that has cannot make another.
[[nodiscard]] bool simgrid_has_run();

}  // namespace lockstep::engine
