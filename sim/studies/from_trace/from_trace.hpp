#pragma once
/// A scenario of a recorded job: its model, how it is spread over its ranks and in what batches it runs, as far as the
/// trace tells; and the rates of its chip, so that each class of kernels takes the time that was recorded.
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/from_trace/kernel_classes.hpp"
#include "sim/studies/replay/against.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::from_trace {

struct FromTraceOptions {
  std::string cluster;                      ///< shorthand, such as "dgx-h100:4"
  std::vector<scenario::KeyOverride> said;  ///< keys of the scenario that go before what was recognised
  std::string file;                         ///< that the scenario will be written to; stands in problems
};

/// The kernels of one class in a step of one rank.
struct ClassResidual {
  KernelClass kind = KernelClass::others;
  Seconds recorded{0}, unfitted{0}, fitted{0};
  Flops flops{0};         ///< that the scenario's step computes in this class
  Bytes traffic{0};       ///< and moves
  bool measured = false;  ///< the fitted rate is the trace's; otherwise it is the catalog's
};

struct FromTrace {
  std::string yaml;                  ///< the scenario
  std::vector<std::string> reasons;  ///< sentences: how its values were found
  std::vector<ClassResidual> classes;
  std::vector<replay::ComparedCollective> collectives;
  bool is_fitted = false;  ///< the chip has rates of kernels, which were fitted
  Seconds recorded_step{0}, simulated_step{0};
  std::int32_t rank = 0;  ///< whose kernels these are
};

/// From the first recorded rank. Throws ConfigError where the trace does not tell enough, with the keys that have to be
/// said, or where the scenario would be refused.
[[nodiscard]] FromTrace scenario_of_trace(const workloads::RecordedJob& job, const FromTraceOptions& options,
                                          spdlog::logger& log);

}  // namespace lockstep::from_trace
