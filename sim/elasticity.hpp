#pragma once
/// How the step time answers to the machine: each rate is raised a little, and the step simulated again.
/// Definitions: docs/models/critical_path.md.
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/program/fold.hpp"

namespace lockstep {

struct Preparation;
struct Scenario;

/// d ln(step time) / d ln(parameter): percent of step time per percent of the parameter.
struct Elasticity {
  std::string parameter;  ///< "compute rate", "memory bandwidth", "ici bandwidth", "latency"
  double value;           ///< of a rate between 0 and -1, of latency between 0 and 1; a little beyond where an order of operations flips
  bool is_rate;           ///< more of it is better; of latency, less
  /// Percent by which the step gets shorter for a percent of improvement.
  [[nodiscard]] double gain() const { return is_rate ? -value : value; }
};

/// Simulations of a program on machines that are a little better, in processes of their own: they run beside the
/// simulation of the program itself, and must be started before it, since a process can run SimGrid once.
class Elasticities {
 public:
  Elasticities(const Scenario& scenario, const Preparation& preparation, const FoldedProgram& folded, EngineKind engine, spdlog::logger& log);
  ~Elasticities();
  Elasticities(const Elasticities&) = delete;
  Elasticities& operator=(const Elasticities&) = delete;

  /// Waits for them. What helps most first, equals in the order of parameters; once.
  [[nodiscard]] std::vector<Elasticity> of(Seconds step_time);

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

}  // namespace lockstep
