#pragma once
/// Working data of the expansion of sharded layers: buckets of gradients, passes of blocks, handovers.
#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/sharded_layers/unique_ids_private.hpp"
#include "workloads/step/build_step.hpp"

namespace lockstep::workloads {

using OpIds = UniqueIds;

/// A weight of a block.
struct Owner {
  BlockId block = 0;
  std::int32_t weight = 0;  ///< position in ShardedLayer::weights
  friend auto operator<=>(const Owner&, const Owner&) = default;
};

/// The data that one block hands to the next: operations to wait for and the buffers that hold it.
struct Handover {
  OpIds ops;
  std::vector<BufferId> buffers;
};

/// One block in one pass of one microbatch, as vertices.
struct PassVertices {
  Handover received;
  Indexed<BlockStepId, OpId> of_step;
  OpId first_op = 0;            ///< the received operations come before it
  BufferId first_buffer = 0;    ///< that of step 0; one for each step follows
  BufferId on_host = 0;         ///< a forward whose activations went to the host: their buffer there,
  std::optional<OpId> back_up;  ///< once they are wanted, their way back,
  BufferId came_back = 0;       ///< and their buffer on the chip again

  /// Visits the buffers that a step made, or those that the block received.
  template <class Visit>
  void for_each_buffer(int step, Visit visit) const {
    if (step != BlockStep::outside) return visit(first_buffer + step);
    for (const auto buffer : received.buffers) visit(buffer);
  }
};

/// The gradient of one weight on its way to the optimizer.
struct Gradient {
  OpIds ready;                          ///< what completes it so far
  std::vector<BufferId> unreduced;      ///< buffers of contributions that no collective has read yet
  std::optional<BufferId> accumulated;  ///< its own buffer
};

}  // namespace lockstep::workloads
