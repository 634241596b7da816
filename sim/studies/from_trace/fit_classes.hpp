#pragma once
/// The rates of a chip's kernels, so that each class of kernels of a scenario's step takes the time that was recorded.
#include <array>
#include <vector>

#include "sim/preparation/preparation.hpp"
#include "sim/studies/from_trace/kernel_classes.hpp"

namespace lockstep::from_trace {

template <class Value>
using ByClass = std::array<Value, kernel_classes>;

/// What one rank of a stage computes in a step.
class StepClasses {
 public:
  StepClasses(const preparation::PreparedStep& step, workloads::StageId stage);

  /// Of the kernels themselves, as a trace records them: without the gaps between two of them.
  [[nodiscard]] ByClass<Seconds> times(const scenario::Scenario& scenario) const;
  [[nodiscard]] ByClass<Flops> flops() const;
  [[nodiscard]] ByClass<Bytes> traffic() const;
  /// Changes the shares of the peaks that products, attention and other kernels reach, between 1 % and all of a peak,
  /// in the precision of the scenario's products and in 16 bits. Returns which classes take the recorded times now. A
  /// class that was not recorded keeps the rate of the catalog, as does one whose recorded time no share comes within a
  /// quarter of: the scenario's work is not the job's.
  [[nodiscard]] ByClass<bool> fit(scenario::Scenario& scenario, const ByClass<Seconds>& recorded) const;

 private:
  struct Repeated {
    const workloads::StepWork* work;  ///< of the step, which must outlive this
    std::int64_t times;
  };
  /// Fits the measured classes to the times that are wanted; attention that is not measured keeps its time.
  void approach(scenario::Scenario& scenario, const ByClass<Seconds>& wanted, const ByClass<bool>& measured) const;

  std::vector<Repeated> works_;
};

}  // namespace lockstep::from_trace
