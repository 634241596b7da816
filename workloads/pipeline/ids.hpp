#pragma once
/// The numbers by which the parts of a pipeline are known. Schedules call a stage a rank and a virtual stage a stage,
/// as their papers do.
#include <cstdint>

namespace lockstep::workloads {

using StageId = std::int32_t;         ///< position on the mesh's pipeline axis
using VirtualStageId = std::int32_t;  ///< position of a chunk in the model, in forward order
using MicrobatchId = std::int32_t;
using CellId = std::int32_t;  ///< position of a cell in the order of its rank

}  // namespace lockstep::workloads
