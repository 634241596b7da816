#pragma once
/// The numbers by which the parts of a pipeline are known. Orders call the ranks of a pipeline ranks; one rank of a
/// pipeline and a stage of a step have the same number.
#include <cstdint>

namespace lockstep::workloads {

using StageId = std::int32_t;         ///< position on the mesh's pipeline axis
using VirtualStageId = std::int32_t;  ///< position of a chunk in the model, in forward order
using MicrobatchId = std::int32_t;
using SliceId = std::int32_t;  ///< position of a slice in the sequence of its microbatch
using CellId = std::int32_t;   ///< position of a cell in the order of its rank

}  // namespace lockstep::workloads
