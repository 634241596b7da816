#pragma once
/// Those who do the work of a search: they look into sets of plans, time plans exactly and simulate them as they are
/// shown. Threads of this process, or ranks of a job (remote_workers.hpp); what they find does not depend on who they
/// are.
#include <span>
#include <vector>

#include "sim/studies/planning/exact_times.hpp"
#include "sim/studies/planning/plan_figures.hpp"
#include "sim/studies/planning/plan_forest.hpp"

namespace lockstep::planning {

class PlanWorkers {
 public:
  virtual ~PlanWorkers() = default;

  [[nodiscard]] virtual int count() const = 0;
  /// The whole space, one set of plans for each node.
  [[nodiscard]] virtual std::vector<PlanBranch> roots() = 0;
  /// The branches below each of the given branches, in their order.
  [[nodiscard]] virtual std::vector<PlanTree::Branches> below(std::span<const PlanBranch> branches) = 0;
  [[nodiscard]] virtual std::int64_t bounds() const = 0;  ///< computed so far

  /// Whether a worker is free to time a plan, and whether none times one.
  [[nodiscard]] virtual bool has_room() const = 0;
  [[nodiscard]] virtual bool none_runs() const = 0;
  /// Starts to time a plan; there must be room.
  virtual void start(const PlanBranch& plan) = 0;
  /// Waits until one or more plans have been timed; some must be running. Throws what a simulation threw.
  [[nodiscard]] virtual std::vector<ExactTimes::Timed> wait() = 0;

  /// The plan as `lockstep run` simulates it.
  [[nodiscard]] virtual PlanFigures figures(const PlanChoice& choice) = 0;
};

/// Threads of this process.
class LocalWorkers : public PlanWorkers {
 public:
  LocalWorkers(const PlanSpace& space, int jobs, engine::EngineKind engine, spdlog::logger& log)
      : space_(space), engine_(engine), log_(log), forest_(space, jobs), exact_times_(space, jobs, engine, log) {}

  [[nodiscard]] int count() const override { return forest_.threads(); }
  [[nodiscard]] std::vector<PlanBranch> roots() override { return forest_.roots(); }
  [[nodiscard]] std::vector<PlanTree::Branches> below(std::span<const PlanBranch> branches) override {
    return forest_.below(branches);
  }
  [[nodiscard]] std::int64_t bounds() const override { return forest_.bounds(); }
  [[nodiscard]] bool has_room() const override { return exact_times_.has_room(); }
  [[nodiscard]] bool none_runs() const override { return exact_times_.none_runs(); }
  void start(const PlanBranch& plan) override { exact_times_.start(plan); }
  [[nodiscard]] std::vector<ExactTimes::Timed> wait() override { return exact_times_.wait(); }
  [[nodiscard]] PlanFigures figures(const PlanChoice& choice) override {
    return figures_in_child(space_.scenario(space_.node_of(choice), choice), engine_, log_);
  }

 private:
  const PlanSpace& space_;
  engine::EngineKind engine_;
  spdlog::logger& log_;
  PlanForest forest_;
  ExactTimes exact_times_;
};

}  // namespace lockstep::planning
