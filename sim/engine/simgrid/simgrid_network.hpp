#pragma once
/// Collectives as flows on SimGrid's max-min network. SimGrid keeps the clock and shares the links;
/// compute operations and latencies are dates of our own, for which SimGrid's clock is made to stop.
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <simgrid/forward.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Comm.hpp>

#include "sim/engine/date_queue.hpp"
#include "sim/engine/network.hpp"
#include "sim/engine/simgrid/flow_routes.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep {

class SimGridNetwork final : public Network {
 public:
  /// `phases`, if given, gets every phase as its flows end; it must outlive the network.
  explicit SimGridNetwork(const Program& program, std::vector<PhaseSpan>* phases = nullptr);

  [[nodiscard]] Seconds now() const override { return Seconds(now_s_); }
  void start_compute(Work work, Seconds duration) override;
  [[nodiscard]] bool start_collective(Work work, std::int32_t op, std::int32_t group) override;
  void run(const TakeIn& take_in) override;
  [[nodiscard]] std::int64_t flows() const override { return flows_started_; }

 private:
  /// A collective under way in one group.
  struct Collective {
    Work work;
    std::int32_t op;
    std::int32_t group;
    std::int32_t phase;
    std::int32_t flows_left;  // of this phase
    double flows_since_s;
  };
  /// A SimGrid communication that carries one flow, again and again.
  struct Carrier {
    simgrid::s4u::CommPtr comm;
    std::size_t flow;
    std::int32_t collective;  // while it is under way
    std::int32_t next_idle;   // of the same flow, or -1
  };

  void on_time_advance(const TakeIn& take_in);
  void take_finished_flows();
  void take_due_dates();
  void set_alarm();
  /// Goes on to `phase`: false if no phase from there on takes time, and the collective is complete.
  [[nodiscard]] bool enter_phase(std::int32_t collective, std::int32_t phase);
  [[nodiscard]] bool start_flows(std::int32_t collective);
  void start_flow(std::size_t flow, double bytes, std::int32_t collective);
  void go_on(std::int32_t collective, bool takes_time);

  const Program& program_;
  std::vector<PhaseSpan>* phases_;
  FlowRoutes routes_;
  DateQueue dates_;  // compute operations, and ends of latencies as Work{-1, collective}
  double now_s_ = 0;
  simgrid::kernel::timer::Timer* alarm_ = nullptr;  // stops the clock at the next of our dates
  std::vector<Collective> collectives_;
  std::vector<std::int32_t> free_collectives_;
  std::vector<Carrier> carriers_;
  std::vector<std::int32_t> idle_carrier_;  // per flow, or -1
  std::unordered_map<const simgrid::kernel::resource::Action*, std::int32_t> carrier_of_;
  std::int64_t flows_started_ = 0;
  std::vector<Work> completed_;  // at this instant
  std::vector<Work> due_;
};

}  // namespace lockstep
