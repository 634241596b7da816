#include "sim/engine/reference/reference_network.hpp"

namespace lockstep::engine {

void ReferenceNetwork::start_compute(Work work, Seconds until) { dates_.push(until.value(), work); }

bool ReferenceNetwork::start_collective(Work work, std::int32_t op, std::int32_t /*group*/) {
  const Seconds duration = program_.ops[op].closed_form;
  if (duration <= Seconds(0)) return false;
  dates_.push(now_s_ + duration.value(), work);
  return true;
}

void ReferenceNetwork::run(const TakeIn& take_in) {
  take_in({});
  std::vector<Work> completed;
  while (!dates_.empty()) {
    completed.clear();
    now_s_ = dates_.take(dates_.next_date_s() + one_instant_s, completed);
    take_in(completed);
  }
}

}  // namespace lockstep::engine
