#include "sim/engine/simgrid/module.hpp"

#include "sim/engine/simgrid/simgrid_network.hpp"

namespace lockstep::engine {

Network* lockstep_simgrid_network(const program::Program& program, std::vector<timeline::PhaseSpan>* phases) {
  return new SimGridNetwork(program, phases);
}

}  // namespace lockstep::engine
