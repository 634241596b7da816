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
  StageId stage = 0;
  BlockId block = 0;
  MicrobatchId microbatch = 0;
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
  StepWriter(const ShardedLayers& kinds, const Indexed<BlockId, KindId>& order, const StepPipeline& pipeline,
             const StepOptions& options);

  [[nodiscard]] const ShardedLayer& kind(BlockId block) const { return kinds_[order_[block]]; }
  /// The block as a slice of a microbatch runs it; its steps are those of the block, with work of their own.
  [[nodiscard]] KindId kind_id(BlockId block, MicrobatchId microbatch) const {
    return order_[block] + pipeline.order.shape.slice_of(microbatch) * pipeline.kinds_of_slice;
  }
  [[nodiscard]] const ShardedLayer& kind(BlockId block, MicrobatchId microbatch) const {
    return kinds_[kind_id(block, microbatch)];
  }
  [[nodiscard]] const ChosenSteps& waited_for_by_input_gradient(BlockId block) const {
    return of_input_gradient_[order_[block]];
  }
  [[nodiscard]] BlockId blocks() const { return order_.count(); }
  [[nodiscard]] const WeightUpdate& update_of(const Owner& owner) const;

  static StepOp at(const StepPlace& place, StepPass pass, const StepWork* what);
  /// The work of a block's step. If the step does the work of routed tokens, it is the work of the rank that gets most
  /// of them; if it is attention over documents, that of the rank with the most of it.
  [[nodiscard]] const StepWork* work_of(const StepPlace& place, StepPass pass, BlockStepId step);
  [[nodiscard]] const BlockSteps& steps(const StepPlace& place, StepPass pass) const {
    const auto& kind = this->kind(place.block, place.microbatch);
    return pass == StepPass::forward ? kind.forward : kind.backward;
  }
  [[nodiscard]] double load(const StepPlace& place, const BlockStep& step) {
    return step.routed ? routed(place).load : 1.0;
  }
  [[nodiscard]] const StepWork* collective(const DerivedCollective& derived, CollectiveRole role,
                                           const std::vector<std::string>& arrays);
  /// Adds communication of a given time on a stream of its own, beside compute.
  static StepWork given(const std::string& stream, const std::string& name, Seconds time, GivenTime what);
  /// Adds a transfer between a chip and its host; `direction` is the stream, to_host or from_host.
  [[nodiscard]] StepWork transfer(const std::string& direction, const std::string& what, Bytes size) const;
  OpId add(const StepOp& op, const OpIds& after);
  /// Stores work of a single operation.
  OpId add(const StepPlace& place, StepPass pass, StepWork work, const OpIds& after);
  /// Without memory there are no buffers, and the id is 0.
  BufferId hold(MemoryKind kind, Bytes size, OpId producer, StageId stage);
  void read(BufferId buffer, OpId reader) {
    if (remembers_) merge(graph.buffers[buffer].readers, reader);
  }
  [[nodiscard]] bool remembers() const { return remembers_; }

  StepGraph graph;
  const StepPipeline& pipeline;
  const StepOptions& options;

 private:
  const ShardedLayers& kinds_;
  const Indexed<BlockId, KindId>& order_;
  bool remembers_;  ///< what is held; transfers to the host depend on it
  Indexed<KindId, ChosenSteps> of_input_gradient_;
  using Works = std::array<Indexed<BlockStepId, const StepWork*>, 2>;  ///< by pass; null: not yet written down
  Indexed<KindId, Works> works_;                                       ///< of an even load
  struct Routed {
    double load = 0;  ///< 0: not yet drawn
    Works works;      ///< of steps with routed tokens, where the load is not even
  };
  Routed& routed(const StepPlace& place);
  [[nodiscard]] bool follows_documents(const BlockStep& step) const {
    return (step.attends || step.travels) && options.sequence_load.varies();
  }
  Works& of_documents(const StepPlace& place);
  Indexed<BlockId, Indexed<MicrobatchId, Routed>> routed_;
  std::map<std::pair<KindId, MicrobatchId>, Works> of_documents_;  ///< of steps that follow the lengths of documents
  std::map<std::tuple<std::vector<std::string>, CollectiveKind, AxisNames, std::int64_t, CollectiveRole>,
           const StepWork*>
      collectives_;
};

}  // namespace lockstep::workloads
