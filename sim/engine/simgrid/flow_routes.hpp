#pragma once
/// SimGrid's platform for a Program: its links, and a pair of hosts for every flow whose route is
/// the flow's list of links. Hosts are only names for routes; ranks do not appear.
#include <cstdint>
#include <utility>
#include <vector>

#include <simgrid/forward.h>
#include <simgrid/kernel/resource/Model.hpp>

#include "sim/engine/runtime/phased_network.hpp"
#include "sim/program/program.hpp"

namespace lockstep::engine {

class FlowRoutes {
 public:
  /// Sets SimGrid up: one call per process, a second one throws InternalError.
  FlowRoutes(const program::Program& program, const FirstFlows& first_flow);

  [[nodiscard]] std::size_t flows() const { return flows_; }
  [[nodiscard]] std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*> ends(std::size_t flow) const;
  [[nodiscard]] simgrid::kernel::resource::Model& model() const { return *model_; }

 private:
  void create_zones();
  void create_routes(const program::Program& program, const FirstFlows& first_flow);

  std::size_t flows_ = 0;
  std::size_t side_ = 1;  // a zone of `side` hosts has side^2 routes
  std::vector<simgrid::s4u::NetZone*> zones_;
  std::vector<simgrid::s4u::Host*> hosts_;  // zone after zone
  simgrid::s4u::NetZone* root_ = nullptr;
  simgrid::kernel::resource::Model* model_ = nullptr;
};

}  // namespace lockstep::engine
