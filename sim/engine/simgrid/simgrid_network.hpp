#pragma once
/// Collectives as flows on SimGrid's max-min network. SimGrid keeps the clock and shares the links;
/// compute operations and latencies are dates of our own, for which SimGrid's clock is made to stop.
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <simgrid/forward.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Comm.hpp>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/phased_network.hpp"
#include "sim/engine/simgrid/flow_routes.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::engine {

class SimGridNetwork final : public PhasedNetwork {
 public:
  /// `phases`, if given, gets every phase as its flows end; it must outlive the network.
  explicit SimGridNetwork(const program::Program& program, std::vector<timeline::PhaseSpan>* phases = nullptr);

  void run(const TakeIn& take_in) override;

 private:
  /// A SimGrid communication that carries one flow, again and again.
  struct Carrier {
    simgrid::s4u::CommPtr comm;
    std::size_t flow;
    std::int32_t collective;  // while it is under way
    std::int32_t next_idle;   // of the same flow, or -1
  };

  void on_time_advance(const TakeIn& take_in);
  void take_finished_flows();
  void set_alarm();
  void start_flow(std::size_t flow, double bytes, std::int32_t collective) override;

  FlowRoutes routes_;
  simgrid::kernel::timer::Timer* alarm_ = nullptr;  // stops the clock at the next of our dates
  Indexed<std::int32_t, Carrier> carriers_;
  std::vector<std::int32_t> idle_carrier_;  // per flow, or -1
  std::unordered_map<const simgrid::kernel::resource::Action*, std::int32_t> carrier_of_;
};

}  // namespace lockstep::engine
