#include "sim/studies/planning/exact_times.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::planning {

ExactTimes::ExactTimes(const PlanSpace& space, int jobs, engine::EngineKind engine, spdlog::logger& log)
    : engine_(engine), log_(log), running_(static_cast<std::size_t>(jobs)) {
  for (std::size_t i = 0; i < running_.size(); ++i) simulators_.emplace_back(space);
}

bool ExactTimes::has_room() const {
  return std::any_of(running_.begin(), running_.end(), [](const auto& running) { return !running; });
}

bool ExactTimes::none_runs() const {
  return std::none_of(running_.begin(), running_.end(), [](const auto& running) { return running.has_value(); });
}

void ExactTimes::start(const PlanBranch& plan) {
  const auto room = std::find_if(running_.begin(), running_.end(), [](const auto& running) { return !running; });
  if (room == running_.end()) throw InternalError("planning: no simulator is free");
  const auto which = static_cast<std::size_t>(room - running_.begin());
  std::packaged_task<double()> timing(
      [this, which, choice = plan.choice] { return simulators_[which].step_s(choice, engine_, log_); });
  auto step_s = timing.get_future();
  std::jthread thread([this, which, timing = std::move(timing)]() mutable {
    timing();
    const std::lock_guard lock(mutex_);
    ended_.push_back(which);
    some_ended_.notify_one();
  });
  room->emplace(Running{plan, std::move(step_s), std::move(thread)});
}

std::vector<ExactTimes::Timed> ExactTimes::wait() {
  std::vector<std::size_t> ended;
  {
    std::unique_lock lock(mutex_);
    some_ended_.wait(lock, [&] { return !ended_.empty(); });
    ended.swap(ended_);
  }
  std::vector<Running> done;
  for (const auto which : ended) done.push_back(std::move(*std::exchange(running_[which], std::nullopt)));
  std::vector<Timed> timed;
  for (auto& [plan, step_s, thread] : done) timed.push_back({plan, step_s.get()});
  return timed;
}

}  // namespace lockstep::planning
