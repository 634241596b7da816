#pragma once
/// Collectives as phases, each a latency and then flows on links; compute operations as dates. A derived class decides
/// how flows share the links.
#include <cstdint>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/date_queue.hpp"
#include "sim/engine/runtime/network.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::engine {

/// By communicator and group.
using FirstFlows = Indexed<program::CommunicatorId, Indexed<collectives::GroupId, std::size_t>>;

class PhasedNetwork : public Network {
 public:
  /// `phases`, if given, gets every phase as its flows end; it must outlive the network, as must the program.
  PhasedNetwork(const program::Program& program, std::vector<timeline::PhaseSpan>* phases);

  [[nodiscard]] Seconds now() const final { return Seconds(now_s_); }
  void start_compute(Work work, Seconds until) final;
  [[nodiscard]] bool start_collective(Work work, std::int32_t op, std::int32_t group) final;
  [[nodiscard]] std::int64_t flows() const final { return flows_started_; }

 protected:
  /// A flow of a collective starts now; `flow_ended` follows.
  virtual void start_flow(std::size_t flow, double bytes, std::int32_t collective) = 0;
  void flow_ended(std::int32_t collective);
  /// Compute operations and latencies that end at this instant.
  void take_due_dates();

  const program::Program& program_;
  double now_s_ = 0;
  DateQueue dates_;              // compute operations, and ends of latencies as Work{-1, collective}
  std::vector<Work> completed_;  // at this instant
  /// Flows are numbered group by group; only those of communicators that some operation uses.
  std::size_t flow_count_ = 0;
  FirstFlows first_flow_;

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

  /// Goes on to `phase`: false if no phase from there on takes time, and the collective is complete.
  [[nodiscard]] bool enter_phase(std::int32_t collective, std::int32_t phase);
  [[nodiscard]] bool start_flows(std::int32_t collective);
  void go_on(std::int32_t collective, bool takes_time);

  std::vector<timeline::PhaseSpan>* phases_;
  Indexed<std::int32_t, Collective> collectives_;
  std::vector<std::int32_t> free_collectives_;
  std::int64_t flows_started_ = 0;
  std::vector<Work> due_;
};

/// The number of the first flow of each group; none of communicators that no operation uses.
[[nodiscard]] FirstFlows first_flows(const program::Program& program, std::size_t& flows);

}  // namespace lockstep::engine
