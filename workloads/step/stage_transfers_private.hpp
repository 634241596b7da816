#pragma once
/// Transfers from one virtual stage to the next on another stage, in full or in parts that are gathered there.
#include <map>
#include <tuple>

#include "workloads/step/step_writer_private.hpp"

namespace lockstep::workloads {

class StageTransfers {
 public:
  explicit StageTransfers(StepWriter& writer) : writer_(writer) {}

  /// Parts of the model, as the schedule numbers them, and the stage of the second.
  struct Way {
    std::int32_t from_virtual_stage, to_virtual_stage, to_stage;
  };
  /// From the stage of `place`. `border`: the block whose input or input gradient it is.
  Handover send(const Handover& handed, const StepPlace& place, StepPass pass, const Way& way,
                const ShardedLayer& border);

 private:
  Handover gather(const Handover& part, const StepPlace& place, StepPass pass, std::int32_t from_stage,
                  const ShardedLayer& border);

  StepWriter& writer_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, const ShardedLayer*>, const StepWork*>
      sends_;  ///< by both parts of the model, the stage of the first, and the border, which a slice has its own of
  std::map<std::tuple<std::int32_t, std::int32_t, const ShardedLayer*, StepPass>, const StepWork*> gathers_;
};

}  // namespace lockstep::workloads
