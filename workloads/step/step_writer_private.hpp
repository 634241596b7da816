#pragma once
/// Writes operations and buffers into the step graph; knows the blocks and their stages, but not their order.
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/step/build_step_private.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::workloads {

/// The place of an operation: a stage of the pipeline (a rank of its order), a block and a microbatch.
struct StepPlace {
  std::int32_t stage = 0;
  int block = 0;
  std::int32_t microbatch = 0;
  std::int32_t pair = 0;
  std::int32_t half = 0;
};

inline Bytes scaled(Bytes size, double factor) {
  return factor == 1.0 ? size : Bytes(static_cast<std::int64_t>(static_cast<double>(size.value()) * factor));
}

inline const std::string to_host = "to host";
inline const std::string from_host = "from host";

class StepWriter {
 public:
  StepWriter(const std::vector<ShardedLayer>& kinds, const std::vector<int>& order, const StepPipeline& pipeline,
             const StepOptions& options);

  [[nodiscard]] const ShardedLayer& kind(int block) const {
    return kinds_[static_cast<std::size_t>(order_[static_cast<std::size_t>(block)])];
  }
  [[nodiscard]] const std::vector<bool>& waited_for_by_input_gradient(int block) const {
    return of_input_gradient_[static_cast<std::size_t>(order_[static_cast<std::size_t>(block)])];
  }
  [[nodiscard]] int blocks() const { return static_cast<int>(order_.size()); }
  [[nodiscard]] const WeightUpdate& update_of(const Owner& owner) const;

  static StepOp at(const StepPlace& place, StepPass pass, const StepWork* what);
  /// The work of a block's step. If the step does the work of routed tokens, it is the work of the rank that gets most
  /// of them.
  [[nodiscard]] const StepWork* work_of(const StepPlace& place, StepPass pass, std::size_t step);
  [[nodiscard]] const std::vector<BlockStep>& steps(int block, StepPass pass) const {
    return pass == StepPass::forward ? kind(block).forward : kind(block).backward;
  }
  [[nodiscard]] double load(const StepPlace& place, const BlockStep& step);
  [[nodiscard]] const StepWork* collective(const DerivedCollective& derived, CollectiveRole role,
                                           const std::vector<std::string>& arrays);
  /// Adds communication of a given time on a stream of its own, beside compute.
  static StepWork given(const std::string& stream, const std::string& name, Seconds time, GivenTime what);
  /// Adds a transfer between a chip and its host; `direction` is the stream, to_host or from_host.
  [[nodiscard]] StepWork transfer(const std::string& direction, const std::string& what, Bytes size) const;
  OpId add(const StepOp& op, const OpIds& after);
  /// Stores work of a single operation.
  OpId add(const StepPlace& place, StepPass pass, StepWork work, const OpIds& after);
  /// Returns the buffer's index in StepGraph::buffers. Without memory there are no buffers, and it is 0.
  std::size_t hold(MemoryKind kind, Bytes size, OpId producer, std::int32_t stage);
  void read(std::size_t buffer, OpId reader) {
    if (remembers_) merge(graph.buffers[buffer].readers, reader);
  }
  [[nodiscard]] bool remembers() const { return remembers_; }

  StepGraph graph;
  const StepPipeline& pipeline;
  const StepOptions& options;

 private:
  const std::vector<ShardedLayer>& kinds_;
  const std::vector<int>& order_;
  bool remembers_;                                                 ///< what is held; transfers to the host depend on it
  std::vector<std::vector<bool>> of_input_gradient_;               ///< by kind
  std::map<std::pair<std::int32_t, std::int32_t>, double> loads_;  ///< by block and microbatch
  std::vector<std::array<std::vector<const StepWork*>, 2>> works_;  ///< by kind, pass and step; of an even load
  std::map<std::pair<const BlockStep*, double>, const StepWork*> works_at_load_;  ///< of others
  std::map<std::tuple<std::vector<std::string>, CollectiveKind, AxisNames, std::int64_t, CollectiveRole>,
           const StepWork*>
      collectives_;
};

}  // namespace lockstep::workloads
