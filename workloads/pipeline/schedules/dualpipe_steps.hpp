#pragma once
/// The order of one rank of DualPipe. DualPipe-V's ranks and each half of DualPipe's ranks run the same steps.
#include <array>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::workloads {

/// Microbatches that pass a rank in one direction, or on one arm of the V.
struct DualPipeStream {
  std::int32_t stage = 0;
  std::int32_t first_microbatch = 0;
};

/// `rank` counts from the rank where the first stream enters, 0, to the rank where it turns or meets its mirror,
/// `ranks` - 1. `microbatches`, at least 2 * `ranks`, are those of each stream.
[[nodiscard]] PipelineCells dualpipe_cells(std::int32_t ranks, std::int32_t rank, std::int32_t microbatches,
                                           const std::array<DualPipeStream, 2>& streams);

}  // namespace lockstep::workloads
