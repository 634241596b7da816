#include "sim/engine/runtime/phased_network.hpp"

namespace lockstep::engine {

namespace {

constexpr std::int32_t end_of_latency = -1;  // Work::turn of a date that is no operation's

}  // namespace

FirstFlows first_flows(const program::Program& program, std::size_t& flows) {
  FirstFlows first(program.communicators.size());
  flows = 0;
  for (const program::ProgramOp& op : program.ops) {
    if (op.kind != program::ProgramOp::Kind::collective) continue;
    const std::size_t communicator = position_of(op.communicator);
    if (!first[communicator].empty()) continue;
    for (const collectives::ProgramGroup& group : program.communicators[communicator].groups) {
      first[communicator].push_back(flows);
      flows += group.flows.size();
    }
  }
  return first;
}

PhasedNetwork::PhasedNetwork(const program::Program& program, std::vector<timeline::PhaseSpan>* phases)
    : program_(program), first_flow_(first_flows(program, flow_count_)), phases_(phases) {}

void PhasedNetwork::start_compute(Work work, Seconds until) { dates_.push(until.value(), work); }

bool PhasedNetwork::start_collective(Work work, std::int32_t op, std::int32_t group) {
  if (free_collectives_.empty()) {
    free_collectives_.push_back(static_cast<std::int32_t>(collectives_.size()));
    collectives_.emplace_back();
  }
  const std::int32_t collective = free_collectives_.back();
  free_collectives_.pop_back();
  collectives_[collective] = {work, op, group, 0, 0, 0};
  const bool takes_time = enter_phase(collective, 0);
  if (!takes_time) free_collectives_.push_back(collective);
  return takes_time;
}

void PhasedNetwork::flow_ended(std::int32_t collective) {
  if (--collectives_[collective].flows_left > 0) return;
  const Collective& done = collectives_[collective];
  if (phases_ != nullptr) phases_->push_back({done.op, done.group, done.phase, {Seconds(done.flows_since_s), now()}});
  go_on(collective, enter_phase(collective, collectives_[collective].phase + 1));
}

void PhasedNetwork::take_due_dates() {
  due_.clear();
  dates_.take(now_s_ + one_instant_s, due_);
  for (const Work work : due_) {
    if (work.turn != end_of_latency) {
      completed_.push_back(work);
    } else {
      const bool has_flows = start_flows(work.index);
      go_on(work.index, has_flows || enter_phase(work.index, collectives_[work.index].phase + 1));
    }
  }
}

void PhasedNetwork::go_on(std::int32_t collective, bool takes_time) {
  if (takes_time) return;
  completed_.push_back(collectives_[collective].work);
  free_collectives_.push_back(collective);
}

bool PhasedNetwork::enter_phase(std::int32_t collective, std::int32_t phase) {
  Collective& entering = collectives_[collective];
  const auto& phases = program_.ops[entering.op].phases;
  for (; position_of(phase) < phases.size(); ++phase) {
    entering.phase = phase;
    if (phases[phase].latency > Seconds(0)) {
      dates_.push(now_s_ + phases[phase].latency.value(), {end_of_latency, collective});
      return true;
    }
    if (start_flows(collective)) return true;
  }
  return false;
}

bool PhasedNetwork::start_flows(std::int32_t collective) {
  Collective& starting = collectives_[collective];
  const program::ProgramOp& op = program_.ops[starting.op];
  const auto& slot_bytes = op.phases[starting.phase].slot_bytes;
  std::size_t flow = first_flow_[op.communicator][starting.group];
  for (const collectives::Flow& program_flow : program_.communicators[op.communicator].groups[starting.group].flows) {
    const double bytes = slot_bytes[program_flow.slot];
    if (bytes > 0) {
      start_flow(flow, bytes, collective);
      ++flows_started_;
      ++starting.flows_left;
    }
    ++flow;
  }
  starting.flows_since_s = now_s_;
  return starting.flows_left > 0;
}

}  // namespace lockstep::engine
