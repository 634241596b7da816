#pragma once
/// How the step time depends on the machine: each rate is raised a little, each latency and fixed time lowered, and the
/// step simulated again. Definitions: docs/models/critical_path.md.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/cost/time_model.hpp"
#include "sim/engine/engine.hpp"
#include "sim/program/fold.hpp"
#include "sim/simulate.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::sensitivity {

/// A machine other than the one that a program was made for: all values from which the program's times follow.
struct TunedMachine {
  program::RatesOfChips rates;                   ///< with the gap between kernels and what the host takes to launch one
  std::map<std::string, double> links;           ///< by level: times their bandwidth
  double latency = 1;                            ///< times all latencies
  std::map<workloads::GivenTime, double> given;  ///< times that kind of given times
};

/// A rate, or a latency or another fixed time: less of it is better.
struct MachineParameter {
  std::string name;  ///< "compute rate", "memory bandwidth", "ici bandwidth", "latency", "launch overhead", ...
  bool is_rate;
  std::function<void(TunedMachine&, double)> improve;  ///< rates times the factor, times over it
};

/// The parameters that affect a program's times, and the programs of machines with other values of them. The list is
/// complete: if every parameter is better by a factor k, every duration is 1/k. Keeps references.
class MachineParameters {
 public:
  MachineParameters(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                    const program::FoldedProgram& folded, engine::EngineKind engine);
  [[nodiscard]] const std::vector<MachineParameter>& list() const { return list_; }
  [[nodiscard]] const TunedMachine& as_it_is() const { return machine_; }
  /// Algorithms, placement and schedule stay.
  [[nodiscard]] program::Program program_on(const TunedMachine& machine) const;

 private:
  void list_compute(const scenario::Scenario& scenario);
  void list_networks(const preparation::PreparedStep& preparation, const program::FoldedProgram& folded);
  void list_given();
  void set_compute(const TunedMachine& machine, program::Program& program) const;
  void set_collectives(const TunedMachine& machine, program::Program& program) const;

  const workloads::StepGraph& step_;
  const program::Program& program_;
  bool closed_forms_;  ///< what the engine looks at
  TunedMachine machine_;
  std::map<std::string, Indexed<topologies::LinkId, bool>> links_of_;  ///< by level: those that something crosses
  std::vector<MachineParameter> list_;
};

/// Simulations of a program on machines that are a little better, in processes of their own: they run beside the
/// simulation of the program itself, and must be started before it, since a process can run SimGrid once.
class Elasticities {
 public:
  Elasticities(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
               const program::FoldedProgram& folded, engine::EngineKind engine, spdlog::logger& log);
  ~Elasticities();
  Elasticities(const Elasticities&) = delete;
  Elasticities& operator=(const Elasticities&) = delete;

  /// Waits for the simulations. The parameter that helps most comes first, equals in the order of parameters. May be
  /// called once.
  [[nodiscard]] std::vector<metrics::Elasticity> of(Seconds step_time);

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

/// `simulate` with the elasticity of the step time for every parameter of the machine.
[[nodiscard]] Simulation simulate_with_elasticity(const scenario::Scenario& scenario, const SimulateOptions& options,
                                                  spdlog::logger& log);

}  // namespace lockstep::sensitivity
