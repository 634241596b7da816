#include "sim/engine/simgrid/simgrid_network.hpp"

#include <algorithm>

#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>

#include "sim/core/errors.hpp"

// How a flow runs. SimGrid 3.32 scans a list of all live communications whenever one ends, which makes
// n concurrent flows cost n^2. So the end of a flow is taken from the network model itself, as soon as
// the clock has moved and before SimGrid looks, and the communication is started again for the
// next transfer of the same flow instead of being replaced. It keeps a stale pointer to its last
// transfer, which only its destructor would follow: SimGrid holds it to the end of the process.

namespace lockstep::engine {

namespace s4u = simgrid::s4u;
using simgrid::kernel::resource::Action;
using simgrid::kernel::timer::Timer;

SimGridNetwork::SimGridNetwork(const program::Program& program, std::vector<timeline::PhaseSpan>* phases)
    : PhasedNetwork(program, phases), routes_(program, first_flow_), idle_carrier_(routes_.flows(), -1) {}

void SimGridNetwork::run(const TakeIn& take_in) {
  s4u::Engine::on_time_advance_cb([this, &take_in](double) { on_time_advance(take_in); });
  take_in({});
  set_alarm();
  s4u::Engine::get_instance()->run();
}

void SimGridNetwork::on_time_advance(const TakeIn& take_in) {
  now_s_ = s4u::Engine::get_clock();
  completed_.clear();
  take_finished_flows();
  take_due_dates();
  if (!completed_.empty()) take_in(completed_);
  set_alarm();
}

void SimGridNetwork::take_finished_flows() {
  while (Action* action = routes_.model().extract_done_action()) {
    const auto found = carrier_of_.find(action);
    if (found == carrier_of_.end()) throw InternalError("SimGrid ended a transfer that was not started");
    Carrier& carrier = carriers_[found->second];
    const std::int32_t collective = carrier.collective;
    carrier.comm->set_state(s4u::Activity::State::FINISHED);
    carrier.next_idle = idle_carrier_[carrier.flow];
    idle_carrier_[carrier.flow] = found->second;
    carrier_of_.erase(found);
    action->unref();  // gives its bandwidth back
    flow_ended(collective);
  }
}

void SimGridNetwork::set_alarm() {
  const bool due_later = !dates_.empty();
  if (alarm_ != nullptr) {
    if (due_later && !(alarm_->get_date() < dates_.next_date_s()) && !(dates_.next_date_s() < alarm_->get_date()))
      return;
    alarm_->remove();
    alarm_ = nullptr;
  }
  if (due_later) alarm_ = Timer::set(std::max(dates_.next_date_s(), now_s_), [this] { alarm_ = nullptr; });
}

void SimGridNetwork::start_flow(std::size_t flow, double bytes, std::int32_t collective) {
  std::int32_t number = idle_carrier_[flow];
  if (number < 0) {
    number = static_cast<std::int32_t>(carriers_.size());
    const auto [source, destination] = routes_.ends(flow);
    carriers_.push_back({s4u::Comm::sendto_init(source, destination), flow, collective, -1});
    carriers_.back().comm->set_payload_size(1);  // the size is set below: this one is an integer
  } else {
    idle_carrier_[flow] = carriers_[number].next_idle;
  }
  Carrier& carrier = carriers_[number];
  carrier.collective = collective;
  carrier.comm->set_state(s4u::Activity::State::STARTING);
  carrier.comm->start();
  Action& action = routes_.model().get_started_action_set()->back();
  if (action.get_activity() != carrier.comm->get_impl()) throw InternalError("SimGrid did not start a flow at once");
  action.set_remains(bytes);
  carrier_of_.emplace(&action, number);
}

}  // namespace lockstep::engine
