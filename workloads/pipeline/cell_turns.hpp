#pragma once
/// The cells of a pipeline order as one sequence, without times: ranks take turns of one cell each, rank 0 first, and a
/// cell that lacks an input waits for a later turn. The result of a cell for another rank is sent right after the cell,
/// and the other rank receives it after the cells that it has taken by then. PyTorch's pipeline runtime writes the
/// ranks' programs in this way (torch.distributed.pipelining, `_add_send_recv`). Every rank's sends and receives are
/// then a part of one sequence, and ranks that go through them strictly in order never wait for each other in a circle.
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::workloads {

struct CellPlace {
  StageId rank = 0;
  CellId index = 0;
};

/// In the result everything that a cell waits for comes before it. Throws ScheduleError if the order never comes to its
/// end (verify_order says why).
[[nodiscard]] std::vector<CellPlace> cells_in_turn(const PipelineOrder& order);

/// The same for ranks' programs that have other entries between the cells. Such an entry is null; it takes a turn too,
/// and waits for nothing.
using CellsAndOthers = Indexed<StageId, Indexed<CellId, const PipelineCell*>>;
[[nodiscard]] std::vector<CellPlace> cells_in_turn(const PipelineShape& shape, const CellsAndOthers& ranks);

}  // namespace lockstep::workloads
