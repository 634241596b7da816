#pragma once
/// Exact step times of plans, several at a time. Each runs on a thread and on a simulator that stays, because the
/// simulator keeps the parts that plans have in common. Chance decides which plan ends first, but not how long its step
/// takes.
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "sim/studies/planning/plan_simulator.hpp"
#include "sim/studies/planning/plan_tree.hpp"

namespace lockstep::planning {

/// To be used by one thread, which starts plans and waits for them. The destructor waits for plans that still run.
class ExactTimes {
 public:
  ExactTimes(const PlanSpace& space, int jobs, engine::EngineKind engine, spdlog::logger& log);

  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool none_runs() const;
  /// Starts a plan; there must be room.
  void start(const PlanBranch& plan);

  struct Timed {
    PlanBranch plan;
    double step_s = 0;
  };
  /// Waits until one or more plans have ended; some must be running. Throws what a simulation threw.
  [[nodiscard]] std::vector<Timed> wait();

 private:
  struct Running {
    PlanBranch plan;
    std::future<double> step_s;
    std::jthread thread;
  };

  engine::EngineKind engine_;
  spdlog::logger& log_;
  std::deque<PlanSimulator> simulators_;
  std::mutex mutex_;
  std::condition_variable some_ended_;
  std::vector<std::size_t> ended_;               ///< their simulators, for the next wait()
  std::vector<std::optional<Running>> running_;  ///< by simulator; last, since its threads use the others
};

}  // namespace lockstep::planning
